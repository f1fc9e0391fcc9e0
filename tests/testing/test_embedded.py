"""The embedded broker, in a thread and in a process."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Literal

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import AsyncBroker, BrokerDidNotStart, EmbeddedBroker
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.integration.raw import RawClient


def create_topic(broker: EmbeddedBroker) -> None:
    """Create topic "t"."""
    with RawClient(broker.bootstrap) as client:
        client.ask(19, 4, CreateTopicsRequest([CreatableTopic("t", 1, 1)]))


def topics(broker: EmbeddedBroker) -> list[str | None]:
    """The names of all topics."""
    with RawClient(broker.bootstrap) as client:
        return [topic.name for topic in client.ask(3, 1, MetadataRequest(None)).topics]


class ThreadBrokerTests(SynchronousTestCase):
    run_in: Literal["thread", "process"] = "thread"

    def make(self, data_dir: str | None = None, **settings: str) -> EmbeddedBroker:
        """A broker; setting names with ``_`` for ``.``. It is stopped at the test's end."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        broker = EmbeddedBroker(named, data_dir=data_dir, run_in=self.run_in)
        self.addCleanup(broker.stop)
        return broker

    def test_serves(self) -> None:
        """It serves at its address; once stopped it does not, and its data are gone."""
        with self.make() as broker:
            data_dir = broker.data_dir or ""
            create_topic(broker)
            self.assertIn("t-0", os.listdir(data_dir))
            bootstrap = broker.bootstrap
            self.assertTrue(broker.running)
        self.assertFalse(broker.running)
        self.assertRaises(ConnectionRefusedError, RawClient, bootstrap)
        self.assertFalse(os.path.exists(data_dir))

    def test_settings(self) -> None:
        """Settings are the broker's."""
        with self.make(num_partitions="7") as broker, RawClient(broker.bootstrap) as client:
            client.ask(19, 4, CreateTopicsRequest([CreatableTopic("t", -1, -1)]))
            (topic,) = client.ask(3, 1, MetadataRequest(None)).topics
        self.assertEqual(len(topic.partitions), 7)

    def test_typed_settings(self) -> None:
        """Settings may be numbers and truth values."""
        settings = {"num.partitions": 3, "log.cleaner.enable": False, "log.cleaner.min.cleanable.ratio": 0.25}
        with EmbeddedBroker(settings, run_in=self.run_in) as broker, RawClient(broker.bootstrap) as client:
            asked = DescribeConfigsResource(4, "0", list(settings))
            (result,) = client.ask(32, 1, DescribeConfigsRequest([asked])).results
        values = {config.name: config.value for config in result.configs}
        self.assertEqual([values[name] for name in settings], ["3", "false", "0.25"])

    def test_first_member_does_not_wait(self) -> None:
        """group.initial.rebalance.delay.ms is 0, unless the settings say otherwise."""
        for settings, wanted in (({}, "0"), ({"group_initial_rebalance_delay_ms": "7"}, "7")):
            with self.make(**settings) as broker, RawClient(broker.bootstrap) as client:
                asked = DescribeConfigsResource(4, "0", ["group.initial.rebalance.delay.ms"])
                (result,) = client.ask(32, 1, DescribeConfigsRequest([asked])).results
            self.assertEqual([config.value for config in result.configs], [wanted])

    def test_two_at_once(self) -> None:
        """Two brokers know nothing of each other."""
        with self.make() as one, self.make() as other:
            self.assertNotEqual(one.bootstrap, other.bootstrap)
            create_topic(one)
            self.assertEqual((topics(one), topics(other)), (["t"], []))

    def test_again(self) -> None:
        """A broker that is stopped and started again has what it had; so has another with its directory."""
        data_dir = os.path.abspath(self.mktemp())
        broker = self.make(data_dir=data_dir)
        broker.start()
        create_topic(broker)
        broker.stop()
        broker.start()
        self.assertEqual(topics(broker), ["t"])
        broker.stop()
        with self.make(data_dir=data_dir) as other:
            self.assertEqual(topics(other), ["t"])
        self.assertTrue(os.path.exists(data_dir))

    def test_cannot_start(self) -> None:
        """A broker that cannot start says why; afterwards nothing of it is left."""
        threads = threading.active_count()
        for settings in (
            {"num_partitions": "many"},
            {"log_dirs": "/proc/kafkatx"},
            {"kafkatx_storage": "nothing"},
        ):
            ((name, value),) = settings.items()
            name = name.replace("_", ".")
            error = self.assertRaises(BrokerDidNotStart, self.make(**settings).start)
            self.assertRegex(str(error), f"^{name}={value}: [^\\n]+$")
        self.assertEqual(threading.active_count(), threads)

    def test_output(self) -> None:
        """The log can be read while the broker runs and afterwards; a new start begins a new one."""
        broker = self.make().start()
        first = broker.bootstrap
        broker.stop()
        self.assertIn(first, broker.output())
        broker.start()
        self.assertIn(broker.bootstrap, broker.output())
        self.assertNotIn("every log is flushed", broker.output())

    def test_async(self) -> None:
        """A coroutine starts, uses and stops it; the data are gone at the end."""

        async def main() -> tuple[AsyncBroker, list[bytes | None]]:
            async with EmbeddedBroker(run_in=self.run_in) as broker:
                topic = await broker.topic("t")
                await broker.produce(topic, "a", "b")
                return broker, [message.value for message in await broker.messages(topic)]

        broker, values = asyncio.run(main())
        self.assertEqual(values, [b"a", b"b"])
        self.assertRaises(ConnectionRefusedError, RawClient, broker.bootstrap)
        self.assertFalse(os.path.exists(broker.data_dir or ""))

    def test_stop_twice(self) -> None:
        """Stopping what has stopped, or never began, does nothing."""
        broker = self.make()
        broker.stop()
        broker.start()
        broker.stop()
        broker.stop()

    def test_open_connections(self) -> None:
        """Stopping does not wait for clients to go."""
        with self.make() as broker:
            client = RawClient(broker.bootstrap)
            self.addCleanup(client.__exit__)
            client.ask(18, 3, ApiVersionsRequest("test", "1"))
        self.assertTrue(client.closed())

    def test_in_memory(self) -> None:
        """With kafkatx.storage=memory nothing is written to the disk."""
        with self.make(kafkatx_storage="memory") as broker:
            create_topic(broker)
            self.assertEqual(topics(broker), ["t"])
            self.assertEqual(os.listdir(broker.data_dir or ""), [])


class ProcessTests(ThreadBrokerTests):
    run_in = "process"
