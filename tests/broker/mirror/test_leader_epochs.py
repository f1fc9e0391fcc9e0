"""Leader epochs that a leader raises itself."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs, shielded
from kafkatx.errors import ErrorCode
from tests.broker.replicated import ReplicatedTestCase


class LeaderEpochsTests(ReplicatedTestCase):
    def setUp(self) -> None:
        """Make a topic with two partitions."""
        super().setUp()
        self.one, self.other = self.make_replicated("t", [(1, 2, 3)] * 2)
        self.epochs = LeaderEpochs(self.metadata, 1)

    def test_raised(self) -> None:
        """All epochs are raised in one call; one that is high enough is not touched."""
        before = len(self.metadata.commands)
        raising = Deferred.fromCoroutine(self.epochs.raise_to({self.one: 7, self.other: 0}))
        self.assertEqual(self.successResultOf(raising), {})
        self.assertEqual((self.one.leader_epoch, self.other.leader_epoch), (7, 0))
        (command,) = self.metadata.commands[before:]
        self.assertEqual([change.leader_epoch for change in command.args[0]], [7])
        self.assertEqual(self.one.isr, (1, 2, 3))
        raising = Deferred.fromCoroutine(self.epochs.raise_to({self.one: 7}))
        self.assertEqual(self.successResultOf(raising), {})
        self.assertEqual(len(self.metadata.commands), before + 1)

    def test_refused(self) -> None:
        """An epoch that is not raised is told with the error."""
        self.metadata.holding = True
        raising = Deferred.fromCoroutine(self.epochs.raise_to({self.one: 7}))
        self.metadata.commands[-1].done.callback([ErrorCode.INVALID_UPDATE_VERSION])
        self.assertEqual(self.successResultOf(raising), {self.one: ErrorCode.INVALID_UPDATE_VERSION})
        self.assertEqual(self.one.leader_epoch, 0)

    def test_shielded(self) -> None:
        """Cancelling ends the wait, not the change that is under way."""
        change: Deferred[int] = Deferred()
        waiting = shielded(change)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertFalse(change.called)
        change.callback(1)
        change = Deferred()
        waiting = shielded(change)
        change.callback(2)
        self.assertEqual(self.successResultOf(waiting), 2)
