"""The contracts of a producer's parts notice bad ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.encoders import StringEncoder
from kafkatx.interfaces import IEventHandler
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.testing.contracts.producer import EncoderContract, EventHandlerContract, PartitionerContract
from tests.testing.contracts.failures import failed_tests


class Lossy(StringEncoder):
    """An encoder that loses upper case."""

    def encode(self, topic: str, value: Any) -> bytes | None:
        """Encode in lower case."""
        return None if value is None else str(value).lower().encode()


class NeverNone(StringEncoder):
    """An encoder that makes a message of no object."""

    def encode(self, topic: str, value: Any) -> bytes | None:
        """Encode anything."""
        return str(value).encode()


def samples() -> Iterable[object]:
    """Return text in both cases."""
    return ["a", "B"]


class EncoderContractTests(SynchronousTestCase):
    def failed(self, make_encoder: type) -> set[str]:
        """Return the tests that fail for an encoder."""
        return failed_tests(
            EncoderContract, make_encoder=make_encoder, make_decoder=StringEncoder, samples=samples
        )

    def test_good(self) -> None:
        """A built-in encoder keeps it."""
        self.assertEqual(self.failed(StringEncoder), set())

    def test_bad(self) -> None:
        """An encoder that loses something, or makes a message of nothing, is noticed."""
        self.assertIn("test_round_trip", self.failed(Lossy))
        self.assertIn("test_none", self.failed(NeverNone))


class OneTooMany(DefaultPartitioner):
    """A partitioner that chooses a partition behind the last."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the number of partitions."""
        return partitions


class AlwaysFirst(DefaultPartitioner):
    """A partitioner that uses one partition only."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the first partition."""
        return 0


class Forgetful(DefaultPartitioner):
    """A partitioner whose choice for a key changes."""

    calls = 0

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partitions by turns."""
        self.calls += 1
        return self.calls % partitions


class PartitionerContractTests(SynchronousTestCase):
    def test_good(self) -> None:
        """The default partitioner keeps it."""
        self.assertEqual(failed_tests(PartitionerContract, make_partitioner=DefaultPartitioner), set())

    def test_bad(self) -> None:
        """Each way to break it is noticed by the test for it."""
        for partitioner, test in (
            (OneTooMany, "test_in_range"),
            (AlwaysFirst, "test_spread"),
            (Forgetful, "test_by_key"),
        ):
            self.assertIn(test, failed_tests(PartitionerContract, make_partitioner=partitioner))


@implementer(IEventHandler)
class Sending:
    """A handler that sends each request once."""

    def handle(self, node: int, batches: object, send: Callable[[], Deferred[object]]) -> Deferred[object]:
        """Send."""
        return send()

    def close(self) -> None:
        """Do nothing."""


@implementer(IEventHandler)
class Twice(Sending):
    """A handler that sends each request twice."""

    def handle(self, node: int, batches: object, send: Callable[[], Deferred[object]]) -> Deferred[object]:
        """Send, and again."""
        send()
        return send()


@implementer(IEventHandler)
class Swallowing(Sending):
    """A handler that takes a failed request for delivered."""

    def handle(self, node: int, batches: object, send: Callable[[], Deferred[object]]) -> Deferred[object]:
        """Send; forget the failure."""
        send().addErrback(lambda failure: None)
        return succeed(None)


class EventHandlerContractTests(SynchronousTestCase):
    def test_good(self) -> None:
        """A handler that sends each request keeps it."""
        self.assertEqual(failed_tests(EventHandlerContract, make_handler=Sending), set())

    def test_bad(self) -> None:
        """A request that is sent twice, and a failure that is hidden, are noticed."""
        self.assertIn("test_response", failed_tests(EventHandlerContract, make_handler=Twice))
        self.assertIn("test_failure", failed_tests(EventHandlerContract, make_handler=Swallowing))
