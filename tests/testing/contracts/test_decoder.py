"""The contracts of decoders notice bad ones."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.interfaces import IDecoder, IRowDecoder
from kafkatx.testing.contracts.decoder import DecoderContract, RowDecoderContract
from tests.testing.contracts.failures import failed_tests


@implementer(IDecoder)
class Number:
    """A decoder of whole numbers."""

    def decode(self, topic: str, message: bytes | None) -> object:
        """Return the number."""
        return None if message is None else int(bytes(message))


@implementer(IDecoder)
class OnlyBytes(Number):
    """A decoder that cannot read a memoryview."""

    def decode(self, topic: str, message: bytes | None) -> object:
        """Return the number."""
        assert message is None or isinstance(message, bytes)
        return super().decode(topic, message)


@implementer(IDecoder)
class Lenient(Number):
    """A decoder that takes a malformed message for nothing."""

    def decode(self, topic: str, message: bytes | None) -> object:
        """Return the number, or None."""
        try:
            return super().decode(topic, message)
        except ValueError:
            return None


@implementer(IDecoder)
class Fragile(Number):
    """A decoder that never works again after a malformed message."""

    broken = False

    def decode(self, topic: str, message: bytes | None) -> object:
        """Return the number."""
        if self.broken:
            raise ValueError("broken")
        self.broken = message is not None and not bytes(message).isdigit()
        return super().decode(topic, message)


@implementer(IRowDecoder)
class Row(Number):
    """A decoder of numbers into rows of one column."""

    columns = (("n", "bigint"),)
    time_column = None

    def decode(self, topic: str, message: bytes | None) -> object:
        """Return the row."""
        return None if message is None else (int(bytes(message)),)


@implementer(IRowDecoder)
class WrongType(Row):
    """A row decoder that declares another type than its rows have."""

    columns = (("n", "boolean"),)


def samples() -> Iterable[tuple[bytes, object]]:
    """Return a message and its number."""
    return [(b"7", 7)]


def row_samples() -> Iterable[tuple[bytes, tuple[object, ...]]]:
    """Return a message and its row."""
    return [(b"7", (7,))]


def malformed() -> Iterable[bytes]:
    """Return a message that is no number."""
    return [b"seven"]


class DecoderContractTests(SynchronousTestCase):
    def failed(self, make_decoder: type) -> set[str]:
        """Return the tests that fail for a decoder."""
        return failed_tests(DecoderContract, make_decoder=make_decoder, samples=samples, malformed=malformed)

    def test_good(self) -> None:
        """A correct decoder keeps it."""
        self.assertEqual(self.failed(Number), set())

    def test_bad(self) -> None:
        """Each way to break it is noticed by the test for it."""
        for decoder, test in (
            (object, "test_interface"),
            (OnlyBytes, "test_samples"),
            (Lenient, "test_malformed"),
            (Fragile, "test_malformed"),
        ):
            self.assertIn(test, self.failed(decoder), decoder.__name__)


class RowDecoderContractTests(SynchronousTestCase):
    def failed(self, make_decoder: type) -> set[str]:
        """Return the tests that fail for a decoder."""
        return failed_tests(
            RowDecoderContract, make_decoder=make_decoder, samples=row_samples, malformed=malformed
        )

    def test_good(self) -> None:
        """A correct decoder keeps it."""
        self.assertEqual(self.failed(Row), set())

    def test_bad(self) -> None:
        """Rows that no table stores, and a decoder without columns, are noticed."""
        self.assertIn("test_stored", self.failed(WrongType))
        self.assertIn("test_interface", self.failed(Number))
