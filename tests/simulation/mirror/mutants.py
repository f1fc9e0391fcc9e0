"""The rules of mirrors, taken out of the code one by one, and a seed that finds each mutant."""

from __future__ import annotations

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs
from kafkatx.broker.mirror.manager import MirrorManager
from kafkatx.broker.mirror.mirrored_partition import MirroredPartition
from kafkatx.broker.mirror.resumption import Resumption
from kafkatx.broker.replica.logs import topic_settings
from kafkatx.broker.replica.partition import Partition
from tests.simulation.mutants import Edit, Mutant

_MAY_APPEND = MirroredPartition.__dict__["may_append"].fget
_IS_STOPPED = MirroredPartition.__dict__["is_stopped"].fget

MUTANTS = {
    "record": Mutant(
        "records of the link are appended in the state mirroring alone",
        (
            Edit(_MAY_APPEND, "and partition.mirror.fetched", ""),
            Edit(
                MirrorManager._place,
                "self._links.get(record.link) if record.fetched else None",
                "self._links.get(record.link)",
            ),
        ),
    ),
    "epoch-raised": Mutant(
        "a leader takes no batch of a later epoch than its own",
        (
            Edit(LeaderEpochs.raise_to, "if partition.leader_epoch < leader_epoch", "if False"),
            Edit(Resumption._raise_epochs, "one.partition.leader_epoch >= epoch and", ""),
            Edit(
                MirroredPartition._append_records,
                "log.append_as_follower(records, partition.leader_epoch)",
                "log.append_as_follower(records, 1 << 30)",
            ),
        ),
    ),
    "no-own-epoch": Mutant(
        "a leader does not note its own epoch in the log of a mirror",
        (Edit(Partition._lead, "if self.mirror is None or self.mirror.writable:", "if True:"),),
    ),
    "lease": Mutant(
        "nothing is appended without the lease",
        (
            Edit(
                MirroredPartition._append_records,
                "failed = self._replicas.write(partition).get(partition) if size else None",
                "log.write(); partition.advance(); failed = None",
            ),
        ),
    ),
    "compared": Mutant(
        "the log is compared with the source's before it is continued",
        (Edit(Resumption._agree, "if not queries or", "if True or"),),
    ),
    "high-watermark-goes-back": Mutant(
        "the high watermark goes back with a cut",
        (
            Edit(
                Partition.moved_back, "max(high_watermark, self.log.log_start_offset)", "self.high_watermark"
            ),
        ),
    ),
    "progress-forgotten": Mutant(
        "after a cut nothing counts that followers have told before",
        (Edit(Partition.moved_back, "self.leadership.log_was_cut(self.log.log_end_offset)", "pass"),),
    ),
    "promoted-epoch": Mutant(
        "producers write in a leader epoch above all of the source's",
        (
            Edit(
                _IS_STOPPED,
                "return self.partition.leader_epoch > self.partition.log.latest_epoch",
                "return True",
            ),
        ),
    ),
    "starts-at-the-source": Mutant(
        "a log that ends before the source's start begins anew there",
        (Edit(Resumption._start_at, "if end_offset < start:", "if False:"),),
    ),
    "follows-the-start": Mutant(
        "the log start follows the source's",
        (Edit(MirroredPartition.follow_start, "if start > partition.log.log_start_offset:", "if False:"),),
    ),
    "no-retention": Mutant(
        "the target's own retention deletes nothing",
        (
            Edit(
                topic_settings.TopicSettings._of,
                "if KAFKATX_MIRROR in configs and not _is_writable(configs):",
                "if False:",
            ),
        ),
    ),
}
"""The mutants by name."""

SEEDS = {
    "record": 2,
    "epoch-raised": 1,
    "no-own-epoch": 0,
    "lease": 28,
    "compared": 1,
    "high-watermark-goes-back": 1,
    "progress-forgotten": 35,
    "promoted-epoch": 15,
    "starts-at-the-source": 0,
    "follows-the-start": 1,
    "no-retention": 0,
}
"""For each mutant, a seed that finds it: it is tried first."""
