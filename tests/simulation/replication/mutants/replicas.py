"""Rules of what the replicas of a partition do: logs, fetches, high watermarks, commits."""

from __future__ import annotations

from kafkatx.broker.fetch import replica_fetch
from kafkatx.broker.fetch.replica_fetch import ReplicaFetch
from kafkatx.broker.handlers import delete_records
from kafkatx.broker.replica.commit_waiters import CommitWaiters
from kafkatx.broker.replica.fetcher import truncation
from kafkatx.broker.replica.fetcher.follower import Follower
from kafkatx.broker.replica.fetcher.replica_fetcher import ReplicaFetcher
from kafkatx.broker.replica.leadership import Leadership
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.log.append import follower as follower_append
from kafkatx.log.append.appender import Appender
from kafkatx.log.batch_log import BatchLog
from kafkatx.metadata.controller import isr
from tests.simulation.mutants import Edit, Mutant

ABOUT_TO_JOIN = (
    "            or self._is_about_to_join(replica_id, follower, own_end, now_s, lag_s, replicas)\n"
)
"""A line of :meth:`Leadership.committed_end` that keeps the high watermark back more than it must be."""

MUTANTS = {
    "1-epochs-only": Mutant(
        "a follower cuts its log by epochs, and never to its high watermark because it begins to follow",
        (Edit(Follower._begin, "if log.latest_epoch == NO_LEADER_EPOCH:", "if True:"),),
    ),
    "2-follower-loops": Mutant(
        "a follower that does not know the leader's epoch cuts to the end of its own, and asks again",
        (
            Edit(
                truncation.truncation_offset,
                "return min(known_end, log_end_offset)",
                "return min(end_offset, log_end_offset)",
            ),
        ),
    ),
    "3-begin-epoch": Mutant(
        "a leader notes its epoch when it becomes the leader, or with its first record",
        (
            Edit(Partition._begin_epoch, "self.log.begin_epoch(leader_epoch)", "pass"),
            Edit(
                Appender._advance_epoch,
                "self._change().epoch_starts.append((leader_epoch, self.next_offset))",
                "pass",
            ),
        ),
    ),
    "4-nothing-else-of-diverging": Mutant(
        "of an answer with a diverging epoch nothing else is used; a cut lowers the high watermark, too",
        (
            Edit(
                Partition.truncated,
                "min(max(self.high_watermark, log.log_start_offset), log.log_end_offset)",
                "self.high_watermark",
            ),
            Edit(
                Follower._diverges,
                "before = (log.log_end_offset, log.latest_epoch)",
                "self.partition.followed(1 << 60, 0); before = (log.log_end_offset, log.latest_epoch)",
            ),
        ),
    ),
    "5-last-fetched-epoch": Mutant(
        "a follower says the last epoch of its log in each fetch",
        (Edit(Follower.ask, "log.latest_epoch,", "-1,"),),
    ),
    "6-old-reply": Mutant(
        "a reply counts only in the epoch and at the log end that was asked for; the log checks that offsets"
        " and epochs follow, too",
        (
            Edit(
                Follower.take,
                "if partition.role != self.role or partition.log.log_end_offset != asked_offset:",
                "if partition.offline:",
            ),
            Edit(ReplicaFetcher._take_one, "if follower not in self.followers:", "if False:"),
            Edit(follower_append.check_batches, "if end and latest_epoch > leader_epoch:", "if False:"),
            Edit(
                follower_append.check_batches,
                "if not found.latest_epoch < epoch <= leader_epoch:",
                "if False:",
            ),
        ),
    ),
    "7-lives": Mutant(
        "fetches are counted in the life of the follower's broker",
        (
            Edit(Leadership.fetched, "if follower.broker_epoch != broker_epoch:", "if False:"),
            Edit(
                Leadership.forget_lives,
                "if epoch is not None and epoch != follower.broker_epoch:",
                "if False:",
            ),
            Edit(replica_fetch.check_replica, "node.epoch != state.replica_epoch", "False"),
            Edit(isr.is_lost, "if node is not None", "if False and node is not None"),
        ),
    ),
    "9-leaving-counts-until-written": Mutant(
        "a member that leaves counts for the high watermark until its leaving is written",
        (
            Edit(
                Leadership.committed_end,
                "replica_id in state.isr\n",
                "(replica_id in state.isr and (asked is None or replica_id in asked.isr))\n",
            ),
        ),
    ),
    "9-joining-counts-from-asking": Mutant(
        "a replica that joins counts for the high watermark from the asking on, and while it is about to",
        (
            Edit(
                Leadership.committed_end,
                "or (asked is not None and replica_id in asked.isr)\n" + ABOUT_TO_JOIN,
                "",
            ),
        ),
    ),
    "11-old-answer": Mutant(
        "an answer counts for the change that is pending, and a state only settles those before it",
        (
            Edit(Leadership.settle, "if self.asked is asked:", "if True:"),
            Edit(
                Leadership.apply,
                "if self.asked is not None and state.partition_epoch > self.asked.partition_epoch:",
                "if True:",
            ),
            Edit(
                Leadership.committed_end,
                ABOUT_TO_JOIN,
                "",
            ),
        ),
    ),
    "13-acks-all": Mutant(
        "acks=all is answered when all in-sync replicas have the records",
        (
            Edit(
                CommitWaiters.advance, "while waiting and waiting[0][0] <= high_watermark:", "while waiting:"
            ),
        ),
    ),
    "14-lease-of-each-round": Mutant(
        "the lease is asked for in each round of writing, and of each step of the high watermark",
        (
            Edit(
                ReplicaManager._write,
                "if staged and not self.has_lease():",
                "if False:",
            ),
            Edit(Partition._advance_replicated, "and cluster.has_lease()", ""),
        ),
    ),
    "24-epoch-of-waiters": Mutant(
        "acks=all is answered only in the leader epoch in which the records were written; waiters are told"
        " when that ends",
        (
            Edit(
                CommitWaiters.advance,
                "settle(NONE if leader_epoch == partition.leader_epoch else NOT_LEADER)",
                "settle(NONE)",
            ),
            Edit(
                CommitWaiters.advance,
                "if partition.error:\n        self.fail(partition.error)\n        return\n",
                "pass\n",
            ),
            Edit(Partition.fail_commits, "self.commit_waiters.fail(code)", "pass"),
        ),
    ),
    "25-empty-log": Mutant(
        "an empty log may begin with a batch that starts below its end",
        (
            Edit(
                follower_append.check_batches,
                "if base < expected and (at or not is_empty or last < expected):",
                "if base < expected:",
            ),
        ),
    ),
    "26-deleted-records": Mutant(
        "DeleteRecords waits until the live replicas have deleted the records, too",
        (Edit(delete_records._low_watermark, "if partition.leadership is None:", "if True:"),),
    ),
    "27-retention": Mutant(
        "retention deletes nothing above the high watermark",
        (
            Edit(
                BatchLog.retain,
                "while count and self._end_of(count - 1) > self.deletable_end:",
                "while False:",
            ),
        ),
    ),
    "28-checkpoint": Mutant(
        "the high watermark is at most the checkpointed one at the start",
        (
            Edit(
                Partition.__init__,
                "min(max(high_watermark, log.log_start_offset), log.log_end_offset)",
                "log.log_end_offset",
            ),
        ),
    ),
    "R5-min-insync": Mutant(
        "the high watermark stands still while too few replicas are in sync",
        (
            Edit(
                Leadership.committed_end,
                "if len(state.isr) < self.min_insync or state.eligible:",
                "if state.eligible and len(state.isr) >= self.min_insync:",
            ),
        ),
    ),
    "R5-eligible": Mutant(
        "the high watermark stands still while there are eligible replicas",
        (
            Edit(
                Leadership.committed_end,
                "if len(state.isr) < self.min_insync or state.eligible:",
                "if len(state.isr) < self.min_insync:",
            ),
        ),
    ),
    "R6-checked-first": Mutant(
        "a fetch counts as progress when its log is known to agree",
        (
            Edit(
                ReplicaFetch.load,
                "if partition is None or self._check(partition, asked):",
                "if partition is not None:\n"
                "                partition.fetched_by(\n"
                "                    self._replica_id, self._replica_epoch,\n"
                "                    asked.fetch_offset, asked.log_start_offset, now_s)\n"
                "            if partition is None or self._check(partition, asked):",
            ),
        ),
    ),
    "R7-join": Mutant(
        "a replica joins the in-sync replicas when it has all that is committed, and all before the epoch",
        (
            Edit(
                Leadership.may_join,
                "follower.end_offset >= max(high_watermark, self.epoch_start_offset, 0)",
                "follower.end_offset >= 0",
            ),
            Edit(Leadership.may_join, "and follower.is_caught_up(own_end, now_s, lag_s)", ""),
        ),
    ),
}
"""The mutants by name."""
