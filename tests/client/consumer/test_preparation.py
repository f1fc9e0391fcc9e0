"""Tests of kafkatx.client.consumer.preparation: decoders that fire late, at once, or fail."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.preparation import BatchPreparation
from kafkatx.clientcore.consumer.completed_fetch import DecodedBatch
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition


class Part:
    """A decoder whose next answer is :attr:`answer`."""

    answer: Any = None

    def prepare_batch(self, topic: str, messages: Any, headers: Any) -> Any:
        """Return the answer."""
        return self.answer


class BatchPreparationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make decoders of keys and values."""
        self.key, self.value = Part(), Part()
        self.told: list[KafkaTXError | None] = []
        self.notified: list[None] = []
        self.preparation = BatchPreparation(self.key, self.value, lambda: self.notified.append(None))

    def ask(self) -> bool:
        """Ask for a batch."""
        return self.preparation("t", DecodedBatch(TopicPartition("t", 0)), self.told.append)

    def test_at_once(self) -> None:
        """Nothing is waited for if there is nothing to ask, or the answer is there already."""
        self.assertTrue(self.ask())
        self.key.answer = succeed(None)
        self.assertTrue(self.ask())
        self.assertEqual((self.told, self.notified), ([], []))

    def test_later(self) -> None:
        """The batch is ready when both decoders are."""
        self.key.answer, self.value.answer = Deferred(), Deferred()
        self.assertFalse(self.ask())
        self.key.answer.callback(None)
        self.assertEqual(self.told, [])
        self.value.answer.callback(None)
        self.assertEqual((self.told, self.notified), ([None], [None]))

    def test_failures(self) -> None:
        """A failure is told as it is, or raised if it is there at once; a bug is logged."""
        error = KafkaTXError("no")
        self.key.answer = fail(error)
        self.assertIs(self.assertRaises(KafkaTXError, self.ask), error)
        self.key.answer = Deferred()
        self.assertFalse(self.ask())
        self.key.answer.errback(error)
        self.assertEqual(self.told, [error])
        self.key.answer = fail(ZeroDivisionError())
        self.assertRaises(KafkaTXError, self.ask)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError, Exception)), 1)
