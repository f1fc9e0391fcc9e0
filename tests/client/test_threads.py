"""Tests of kafkatx.client.threads without a broker; those with one are in tests.integration.test_facades."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.threads import Admin, Consumer, Producer
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed, RecordsLost
from kafkatx.errors import SettingError

NOWHERE = "127.0.0.1:1"
SENTENCE = "a record's {0} must be bytes, not str: encode it, or set {0}.serializer=string"


class ProducerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a producer that is not connected."""
        self.producer = Producer(bootstrap_servers=NOWHERE)
        self.addCleanup(self.producer.close)

    def test_str(self) -> None:
        """A str value or key is refused with one sentence that names the cure."""
        futures: list[Future[Any]] = [
            self.producer.send("t", "text"),
            self.producer.send_batch("t", ["text"]),
            self.producer.send("t", b"v", key="text"),
        ]
        messages = [str(future.exception(10)) for future in futures]
        self.assertEqual(messages, [SENTENCE.format(what) for what in ("value", "value", "key")])

    def test_produce(self) -> None:
        """A wrong type reaches the callback, or else the next flush."""
        heard: list[Any] = []
        self.producer.produce("t", "text", on_delivery=lambda error, _: heard.append(error))
        self.producer.produce("t", "text")
        error = self.assertRaises(RecordsLost, self.producer.flush)
        self.assertEqual(str(error.first), SENTENCE.format("value"))
        self.assertEqual([str(each) for each in heard], [SENTENCE.format("value")])

    def test_closed(self) -> None:
        """A closed producer takes no more records; closing it again does nothing."""
        self.producer.close()
        self.assertRaises(ClientClosed, self.producer.send, "t", b"v")
        self.assertRaises(ClientClosed, self.producer.produce, "t", b"v")
        self.producer.close()


class ClientTests(SynchronousTestCase):
    def test_no_broker(self) -> None:
        """Starting without a broker raises ConnectionFailed, and ``with`` ends the thread."""
        for make in (Producer, Consumer, Admin):
            client: Any = make(bootstrap_servers=NOWHERE)
            self.assertRaises(ConnectionFailed, client.__enter__)
            self.assertFalse(client.thread._thread.is_alive())

    def test_bad_setting(self) -> None:
        """A bad setting is raised, and leaves no thread."""
        self.assertRaises(SettingError, Producer, bootstrap_servers=NOWHERE, acks="2")

    def test_shared_thread(self) -> None:
        """A client made beside another shares its thread and leaves it running."""
        first = Producer(bootstrap_servers=NOWHERE)
        self.addCleanup(first.close)
        second = Admin(beside=first)
        self.assertIs(second.thread, first.thread)
        second.close()
        self.assertTrue(first.thread._thread.is_alive())
