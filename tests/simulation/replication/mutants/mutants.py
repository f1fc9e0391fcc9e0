"""The rules of replication, taken out of the code one by one, and where each mutant is found.

The races are those of :mod:`.replicas` and :mod:`.cluster`, by the number of the race, or of the rule (R).

Most are found by seeds of this simulation: :data:`SEEDS` has those that are known. Others are found by the
test of a part, which :data:`PROVED` names, mostly for a reason of principle:

*   11: the scenario "late answer" makes the schedule, but no seed has shown the mutant yet;
*   21-topic-ids: the record of a deletion is applied before the new topic, so the old log is gone by then;
*   22: the simulated disks copy what is read, so that a reply never refers to bytes that were cut;
*   23: what is staged is written in the same turn of the reactor, and the state changes between turns;
*   30: ZooKeeper never goes back to an older copy of the tree here.

Race 18 is found by the simulation of stores, :mod:`tests.simulation.mutants`, as ``controller-epoch``.
"""

from __future__ import annotations

from kafkatx.broker.replica.topics import Topics
from kafkatx.log.partition.local_log import LocalLog
from tests.simulation.mutants import Edit, Mutant
from tests.simulation.replication.mutants import cluster, replicas

ALL = {
    **replicas.MUTANTS,
    **cluster.MUTANTS,
    "22-new-file": Mutant(
        "a cut log goes on in a new file",
        (Edit(LocalLog.truncate_to, "self._begin_at(offset, now_ms)", "pass"),),
    ),
    "30-log-ahead": Mutant(
        "a broker has no role for a partition whose log has a later leader epoch than the state",
        (Edit(Topics._is_ahead, "if latest <= state.leader_epoch:", "if True:"),),
    ),
}
"""All mutants by name."""

SEEDS = {
    "1-epochs-only": 0,
    "3-begin-epoch": 0,
    "4-nothing-else-of-diverging": 0,
    "5-last-fetched-epoch": 2,
    "6-old-reply": 1,
    "7-lives": 0,
    "8-incarnations": 3,
    "9-leaving-counts-until-written": 8,
    "21-deletions": 7,
    "24-epoch-of-waiters": 11,
    "R5-eligible": 13,
}
"""For mutants, a seed that finds them within 120 steps: it is tried first."""

PROVED = {
    "11-old-answer": "tests.broker.replica.test_isr.JoiningTests.test_late_answer",
    "21-topic-ids": "tests.log.test_memory.MemoryLogStoreTests.test_create",
    "22-new-file": "tests.log.partition.test_readable_log.ReadableLogTests.test_slice_ends_early",
    "23-before-roles": "tests.broker.replica.test_topics.FollowTests.test_staged_records",
    "30-log-ahead": "tests.broker.replica.test_topics.FollowTests.test_later_epoch_in_the_log",
}
"""The test of a part which fails with a mutant that the simulation cannot see."""

MUTANTS = {name: mutant for name, mutant in ALL.items() if name not in PROVED}
"""The mutants that the simulation must find, by name."""
