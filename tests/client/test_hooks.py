"""Tests of kafkatx.client.hooks, and of the contracts by implementations that break them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.hooks import EventHandler, ProducerCallbacks
from kafkatx.clientcore.producer.values import ProducerRecord
from kafkatx.extension import find
from kafkatx.interfaces import IEventHandler, IProducerCallbacks
from kafkatx.testing.contracts.producer import EventHandlerContract, ProducerCallbacksContract


class ProducerCallbacksTests(ProducerCallbacksContract, SynchronousTestCase):
    make_callbacks = ProducerCallbacks


class EventHandlerTests(EventHandlerContract, SynchronousTestCase):
    make_handler = EventHandler


class ExtensionTests(SynchronousTestCase):
    def test_by_name(self) -> None:
        """The built-in hooks are installed under a name."""
        self.assertIs(type(find(IProducerCallbacks, "none", "callback.handler")()), ProducerCallbacks)
        self.assertIs(type(find(IEventHandler, "default", "event.handler")()), EventHandler)


class Twice(EventHandler):
    """Sends twice."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and send again."""
        send()
        return send()


class Swallows(EventHandler):
    """Reports failed batches as delivered."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and hide failures."""
        return send().addErrback(lambda _: None)


class Forgets(EventHandler):
    """Fires with an invented response."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and invent a response."""
        send()
        return succeed("done")


class Changes(ProducerCallbacks):
    """Changes a batch, and returns nothing for a record."""

    def before_enqueue(self, record: ProducerRecord) -> Any:
        """Return nothing."""

    def after_dequeue(self, batch: Any) -> None:
        """Change the batch."""
        batch.attempts = 0

    def before_close(self) -> Any:
        """Return a value that is not a record."""
        return [b"value"]


class ContractTests(SynchronousTestCase):
    """The contract tests fail for broken implementations."""

    def breaks(self, contract: Any, **made: Any) -> None:
        """Check that the named test fails for this implementation."""
        name = made.pop("test")
        case = type("Broken", (contract, SynchronousTestCase), made)(name)
        with self.assertRaises(self.failureException):
            getattr(case, name)()

    def test_event_handlers(self) -> None:
        """An event handler breaks the contract if it sends twice, hides a failure, or invents a response."""
        self.breaks(EventHandlerContract, make_handler=Twice, test="test_response")
        self.breaks(EventHandlerContract, make_handler=Swallows, test="test_failure")
        self.breaks(EventHandlerContract, make_handler=Forgets, test="test_response")

    def test_callbacks(self) -> None:
        """Callbacks break the contract if they lose a record, change a batch, or return no record."""
        for name in ("test_record", "test_batches_unchanged", "test_last"):
            self.breaks(ProducerCallbacksContract, make_callbacks=Changes, test=name)
