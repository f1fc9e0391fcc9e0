"""Each row once, whatever dies when: every request is the last one of a process once, before and after it."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from tests.blocking.transactional import TransactionalCluster
from tests.spark.sink.exactly_once.streams import Run, Stream

BATCHES = [[b"a1", b"a2", b"a3"], [], [b"b1", b"b2"]]
FEWEST_REQUESTS = 50


def dealt(values: Sequence[bytes], restarts: int) -> list[Sequence[bytes]]:
    """Deal a batch out to two tasks; after a restart to three, and in another order."""
    if not restarts:
        return [values[0::2], values[1::2]]
    back = list(reversed(values))
    return [back[0::3], back[1::3], back[2::3]]


class KillTests(SynchronousTestCase):
    def ends(self, implicit: bool, kills_tasks: bool, dies_after: bool, die_at: int) -> bool:
        """Run a stream in which the *die_at*-th request kills; return False if there are not so many."""
        cluster = TransactionalCluster(implicit)
        cluster.die_at, cluster.dies_after = die_at, dies_after
        Stream(Run(lambda: cluster.client(retries=3), self.patch), BATCHES, dealt, kills_tasks).run()
        case = (implicit, kills_tasks, dies_after, die_at)
        expected = sorted(value for batch in BATCHES for value in batch)
        self.assertEqual((sorted(cluster.committed), cluster.open_ids()), (expected, []), case)
        return cluster.die_at <= 0

    def every_request(self, implicit: bool, kills_tasks: bool, *dies_after: bool) -> None:
        """Kill at each request, until the stream comes to its end without a kill."""
        for after in dies_after:
            at = 1
            while self.ends(implicit, kills_tasks, after, at):
                at += 1
            self.assertGreater(at, FEWEST_REQUESTS)

    def test_driver(self) -> None:
        """The driver dies, with all its tasks (protocol 2)."""
        self.every_request(True, False, False, True)

    def test_driver_old_protocol(self) -> None:
        """The driver dies (protocol 1)."""
        self.every_request(False, False, True)

    def test_tasks(self) -> None:
        """An executor dies, and Spark runs the task again; or the driver does."""
        self.every_request(True, True, True)
