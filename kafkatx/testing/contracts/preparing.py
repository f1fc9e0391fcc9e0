"""The contract of encoders that have to ask a server before they can encode a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from kafkatx.errors import NotPrepared
from kafkatx.interfaces import IEncoder, IPreparing

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPIC = "events"


class PreparingContract(_Case):
    """For an :class:`~kafkatx.interfaces.IPreparing`."""

    def make_encoder(self) -> Any:
        """Return an encoder that is not prepared for :meth:`sample`; its server does not answer yet."""
        raise NotImplementedError

    def sample(self) -> Any:
        """Return a value that it can encode once it is prepared."""
        raise NotImplementedError

    def answer(self) -> None:
        """Let the server answer all requests."""
        raise NotImplementedError

    def prepare(self, encoder: Any) -> Deferred[Any]:
        """Start a preparation; check that it has not ended."""
        asked: Deferred[Any] = encoder.prepare(TOPIC, self.sample())
        self.assertIsInstance(asked, Deferred)
        self.assertNoResult(asked)
        return asked

    def test_interfaces(self) -> None:
        """Check that it provides IEncoder and IPreparing."""
        encoder = self.make_encoder()
        self.assertTrue(verifyObject(IEncoder, encoder))
        self.assertTrue(verifyObject(IPreparing, encoder))

    def test_prepared(self) -> None:
        """Check that encode raises NotPrepared at first, and works when the preparation has ended."""
        encoder = self.make_encoder()
        self.assertRaises(NotPrepared, encoder.encode, TOPIC, self.sample())
        asked = self.prepare(encoder)
        self.assertRaises(NotPrepared, encoder.encode, TOPIC, self.sample())
        self.answer()
        self.successResultOf(asked)
        self.assertIsInstance(encoder.encode(TOPIC, self.sample()), bytes)
        self.assertIsNone(encoder.prepare(TOPIC, self.sample()))

    def test_none(self) -> None:
        """Check that a tombstone needs no preparation."""
        encoder = self.make_encoder()
        self.assertIsNone(encoder.prepare(TOPIC, None))
        self.assertIsNone(encoder.encode(TOPIC, None))

    def test_cancelled(self) -> None:
        """Check that a caller who cancels its preparation leaves those of others alone."""
        encoder = self.make_encoder()
        first, second = self.prepare(encoder), self.prepare(encoder)
        first.addErrback(lambda failure: None)
        first.cancel()
        self.answer()
        self.successResultOf(second)
        self.assertIsInstance(encoder.encode(TOPIC, self.sample()), bytes)
