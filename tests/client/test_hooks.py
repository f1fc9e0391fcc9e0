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
        """They are installed under a name."""
        self.assertIs(type(find(IProducerCallbacks, "none", "callback.handler")()), ProducerCallbacks)
        self.assertIs(type(find(IEventHandler, "default", "event.handler")()), EventHandler)


class Twice(EventHandler):
    """Sends twice."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and send."""
        send()
        return send()


class Swallows(EventHandler):
    """Takes what failed for delivered."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and look away."""
        return send().addErrback(lambda _: None)


class Forgets(EventHandler):
    """Fires with something of its own."""

    def handle(self, node_id: int, batches: Any, send: Any) -> Any:
        """Send, and make something up."""
        send()
        return succeed("done")


class Changes(ProducerCallbacks):
    """Changes a batch, and returns nothing for a record."""

    def before_enqueue(self, record: ProducerRecord) -> Any:
        """Nothing."""

    def after_dequeue(self, batch: Any) -> None:
        """Something that must not be."""
        batch.attempts = 0

    def before_close(self) -> Any:
        """What is no record."""
        return [b"value"]


class ContractTests(SynchronousTestCase):
    """That the contracts can fail."""

    def breaks(self, contract: Any, **made: Any) -> None:
        """The test called for fails for this implementation."""
        name = made.pop("test")
        case = type("Broken", (contract, SynchronousTestCase), made)(name)
        with self.assertRaises(self.failureException):
            getattr(case, name)()

    def test_event_handlers(self) -> None:
        """Sending twice, hiding a failure, making a response up: each breaks the contract."""
        self.breaks(EventHandlerContract, make_handler=Twice, test="test_response")
        self.breaks(EventHandlerContract, make_handler=Swallows, test="test_failure")
        self.breaks(EventHandlerContract, make_handler=Forgets, test="test_response")

    def test_callbacks(self) -> None:
        """Losing a record, changing a batch, giving what is no record: each breaks the contract."""
        for name in ("test_record", "test_batches_unchanged", "test_last"):
            self.breaks(ProducerCallbacksContract, make_callbacks=Changes, test=name)
