"""Tests of the actions: a reply without a producer, as errors have it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import NO_PRODUCER, Reply


class ReplyTests(SynchronousTestCase):
    """The reply of an error."""

    def test_no_producer(self) -> None:
        """An error comes with neither a producer id nor an epoch: both are -1."""
        reply = Reply(ErrorCode.PRODUCER_FENCED)
        self.assertEqual(reply.producer, (-1, -1))
        self.assertIs(reply.producer, NO_PRODUCER)
