"""The connections of one address that are not authenticated."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.admission.unauthenticated import Unauthenticated


class Connection:
    """A connection that notes why it was dropped."""

    reason = ""

    def drop(self, reason: str) -> None:
        """Note the reason."""
        self.reason = reason


class UnauthenticatedTests(SynchronousTestCase):
    def test_oldest_of_address(self) -> None:
        """An address with too many loses its oldest; those of others, and of its own that are done, stay."""
        waiting = Unauthenticated(2)
        other, done, first, second, third = (Connection() for _ in range(5))
        waiting.add(other, "192.0.2.2")
        waiting.add(done, "192.0.2.1")
        waiting.remove(done)
        for each in (first, second, third):
            waiting.add(each, "::ffff:192.0.2.1")
        dropped = [bool(each.reason) for each in (other, done, first, second, third)]
        self.assertEqual(dropped, [False, False, True, False, False])
        self.assertIn("kafkatx.unauthenticated.connections.max.per.ip=2", first.reason)
        self.assertEqual(len(waiting), 3)

    def test_only_one(self) -> None:
        """With a limit of one the new connection takes the place of the old one."""
        waiting = Unauthenticated(1)
        first, second = Connection(), Connection()
        waiting.add(first, "192.0.2.1")
        waiting.add(second, "192.0.2.1")
        self.assertEqual((bool(first.reason), len(waiting)), (True, 1))

    def test_nothing_is_kept(self) -> None:
        """Nothing is kept of connections that have ended, however often that is told."""
        waiting = Unauthenticated(2)
        first = Connection()
        waiting.add(first, "192.0.2.1")
        waiting.remove(first)
        waiting.remove(first)
        self.assertEqual((len(waiting), waiting._by_address), (0, {}))
