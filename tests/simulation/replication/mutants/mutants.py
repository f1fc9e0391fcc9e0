"""The rules of replication, taken out of the code one by one, and where each mutant is found.

The races are those of :mod:`.replicas` and :mod:`.cluster`, by the number of the race, or of the rule (R).

Most are found by seeds of this simulation: :data:`SEEDS` has those that are known. Others are found by the
test of a part, which :data:`PROVED` names, mostly for a reason of principle:

*   11: the scenario "late answer" makes the schedule, but no seed has shown the mutant yet;
*   21-topic-ids: the record of a deletion is applied before the new topic, so the old log is gone by then;
*   18: a seed of the simulation of metadata stores finds it, where controllers change more often: it is
    ``controller-epoch`` of :mod:`tests.simulation.mutants`;
*   22: the simulated disks copy what is read, so that a reply never refers to bytes that were cut;
*   23: what is staged is written in the same turn of the reactor, and the state changes between turns;
*   31-stale-replicas: a seed of the simulation of metadata stores finds it: ``stale-replicas`` there;
*   30: ZooKeeper never goes back to an older copy of the tree here.
"""

from __future__ import annotations

import gc
import os
import unittest
from tempfile import TemporaryDirectory

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
    "2-follower-loops": 15,
    "3-begin-epoch": 0,
    "4-nothing-else-of-diverging": 0,
    "5-last-fetched-epoch": 2,
    "6-old-reply": 1,
    "7-lives": 0,
    "8-incarnations": 3,
    "9-leaving-counts-until-written": 8,
    "9-joining-counts-from-asking": 5,
    "10-reply-lost": 17,
    "12-lease": 0,
    "13-acks-all": 0,
    "14-lease-of-each-round": 60,
    "15-own-past-life": 0,
    "16-revision": 0,
    "17-clean": 1,
    "19-reconnected": 0,
    "20-only-newer": 5,
    "21-deletions": 7,
    "24-epoch-of-waiters": 11,
    "25-empty-log": 19,
    "26-deleted-records": 19,
    "27-retention": 1,
    "28-checkpoint": 2,
    "29-offline": 1006,
    "31-stale-logs": 21,
    "R5-eligible": 13,
    "R5-min-insync": 0,
    "R6-checked-first": 6,
    "R7-join": 0,
    "R8-eligible": 2,
    "R10-recovering": 8,
    "R10-unclean": 2,
}
"""For mutants, a seed that finds them within 120 steps: it is tried first."""

PROVED = {
    "11-old-answer": "tests.broker.replica.test_isr.JoiningTests.test_late_answer",
    "18-controller-epoch": "tests.simulation.test_run.RunTests.test_past_controller",
    "21-topic-ids": "tests.log.test_memory.MemoryLogStoreTests.test_create",
    "22-new-file": "tests.log.partition.test_readable_log.ReadableLogTests.test_slice_ends_early",
    "23-before-roles": "tests.broker.replica.test_topics.FollowTests.test_staged_records",
    "31-stale-replicas": "tests.metadata.controller.test_leaders.StaleTests.test_last",
    "30-log-ahead": "tests.broker.replica.test_topics.FollowTests.test_later_epoch_in_the_log",
}
"""The test of a part which fails with a mutant that the simulation cannot see."""

MUTANTS = {name: mutant for name, mutant in ALL.items() if name not in PROVED}
"""The mutants that the simulation must find, by name."""


def is_proved(name: str) -> bool:
    """Return True if a mutant makes the test fail that is named for it, and nothing else goes wrong."""
    gc.collect()  # what is left of runs would end within the test, and log that
    suite = unittest.defaultTestLoader.loadTestsFromName(PROVED[name])
    result = unittest.TestResult()
    before = os.getcwd()
    with TemporaryDirectory() as folder, ALL[name].alive():
        os.chdir(folder)  # for the files of the test
        try:
            suite.run(result)
        finally:
            os.chdir(before)
    return (len(result.failures), result.errors) == (1, [])
