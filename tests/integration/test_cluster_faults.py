"""Brokers in processes of their own on a real ZooKeeper, and what happens to it, to them and between them.

Each test has a server of its own, which lies below a proxy where the test cuts connections.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
import uuid
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.config.properties import read_properties
from kafkatx.records.builder import build_values
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from kafkatx.testing.zookeeper import ZooKeeperServer
from kafkatx.wire.messages import create_topics, produce
from tests.integration.cut_proxy import CutProxy
from tests.integration.ensemble import shared_ensemble
from tests.integration.raw import RawClient
from tests.ports import free_port
from tests.until import until

STOCK = Path(__file__).parent.parent / "config/stock/kafka-3.9-zookeeper.properties"
SESSION_MS = 3000
LONG_SESSION_MS = 40_000
"""Longer than the start of a broker takes on any machine."""
WAIT_S = 60.0
NONE, NOT_LEADER = 0, 6
PARTITIONS = 20
CREATE_TOPICS, PRODUCE = 19, 0


def metadata(broker: EmbeddedBroker) -> ClusterMetadata:
    """Return what a broker knows of all topics."""
    with Cluster(broker.bootstrap) as cluster:
        return cluster.metadata(None)


def leaders(broker: EmbeddedBroker, topic: str) -> dict[int, int]:
    """Return the leaders of a topic's partitions, as a broker knows them."""
    found = metadata(broker).topics.get(topic)
    return {} if found is None else {number: one.leader for number, one in found.partitions.items()}


def write(broker: EmbeddedBroker, topic: str, partition: int) -> int:
    """Produce a record to a partition by asking this broker; return the error code."""
    data = produce.PartitionProduceData(partition, build_values([b"x"], 1_700_000_000_000))
    request = produce.ProduceRequest(None, -1, 5000, [produce.TopicProduceData(topic, [data])])
    with RawClient(broker.bootstrap) as client:
        (done,) = client.ask(PRODUCE, 8, request).responses
    code: int = done.partition_responses[0].error_code
    return code


def create(broker: EmbeddedBroker, *topics: str) -> int:
    """Ask this broker to create topics of 20 partitions; return the error code of the first."""
    request = create_topics.CreateTopicsRequest(
        [create_topics.CreatableTopic(topic, PARTITIONS, 1) for topic in topics], 5000
    )
    with RawClient(broker.bootstrap) as client:
        code: int = client.ask(CREATE_TOPICS, 5, request).topics[0].error_code
    return code


class FaultCase(SynchronousTestCase):
    """A ZooKeeper server, and brokers on it."""

    def setUp(self) -> None:
        """Make the server; it is not started."""
        self.server = ZooKeeperServer(Path(self.mktemp()), free_port(), tick_ms=500)
        self.addCleanup(self.server.kill)
        self.chroot = f"/{uuid.uuid4().hex[:8]}"

    def serve(self) -> None:
        """Start the server, or start it again with its data."""
        self.server.start()
        self.server.wait()

    def broker(self, broker_id: int, port: int | None = None, **settings: Any) -> EmbeddedBroker:
        """Make a broker; settings have _ for a dot."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        broker = EmbeddedBroker(
            {
                "broker.id": broker_id,
                "zookeeper.connect": f"127.0.0.1:{port or self.server.port}{self.chroot}",
                "zookeeper.session.timeout.ms": SESSION_MS,
                "zookeeper.connection.timeout.ms": 20_000,
                **named,
            },
            run_in="process",
        )
        self.addCleanup(broker.close)
        return broker

    def proxied(self, broker_id: int) -> tuple[EmbeddedBroker, CutProxy]:
        """Start a broker whose connection to ZooKeeper can be cut."""
        proxy = CutProxy(self.server.port)
        self.addCleanup(proxy.close)
        return self.broker(broker_id, proxy.port).start(), proxy

    def zookeeper(self) -> KazooClient:
        """Return a client, for all of the tree."""
        client = KazooClient(f"127.0.0.1:{self.server.port}{self.chroot}")
        client.start()
        self.addCleanup(client.close)
        self.addCleanup(client.stop)
        return client

    def signal(self, broker: EmbeddedBroker, number: signal.Signals) -> None:
        """Send a signal to a broker."""
        assert broker.pid is not None
        os.kill(broker.pid, number)

    def led(self, broker: EmbeddedBroker, topic: str, replicas: dict[str, list[int]]) -> None:
        """Wait until the partitions of a topic are led by their first replicas, as a broker knows it."""
        wanted = {int(number): ids[0] for number, ids in replicas.items()}
        until(lambda: leaders(broker, topic) == wanted, f"the leaders of {topic} are {wanted}")

    def writable(self, broker: EmbeddedBroker, topic: str, partition: int) -> None:
        """Wait until a broker takes records for a partition."""
        until(
            lambda: write(broker, topic, partition) == NONE,
            f"broker {broker.settings['broker.id']} leads {topic}-{partition}",
        )


class ServerTests(FaultCase):
    def test_away_at_start(self) -> None:
        """A broker waits for a server that is not there, and then ends with what it has waited for."""
        broker = self.broker(1, zookeeper_connection_timeout_ms=1500)
        error = str(self.assertRaises(BrokerDidNotStart, broker.start))
        connect = broker.settings["zookeeper.connect"]
        self.assertIn(f"zookeeper.connect={connect}: no ZooKeeper server of 127.0.0.1", error)
        self.assertIn("has answered for 2 s", error)
        self.assertIn("Connection refused", error)

    def test_away_later(self) -> None:
        """A broker goes on without ZooKeeper until its lease ends, takes nothing then, and comes back."""
        self.serve()
        broker = self.broker(1).start()
        topic = broker.topic("t")
        self.server.kill()
        self.assertEqual(write(broker, topic, 0), NONE)
        until(lambda: write(broker, topic, 0) == NOT_LEADER, "the broker takes nothing")
        self.serve()
        self.writable(broker, topic, 0)
        broker.topic("new")

    def test_lost_data(self) -> None:
        """A ZooKeeper that has lost its data costs no record: brokers wait, and a new start is refused."""
        self.serve()
        broker = self.broker(1).start()
        topic = broker.topic("t")
        broker.produce(topic, "x")
        assert broker.data_dir is not None
        segment = Path(broker.data_dir) / f"{topic}-0" / f"{0:020}.log"
        size = segment.stat().st_size
        self.server.kill()
        shutil.rmtree(self.server.folder / "data")
        self.serve()
        until(lambda: write(broker, topic, 0) == NOT_LEADER, "the broker takes nothing")
        until(lambda: "no connection for 10 s" in broker.output(), "the broker tells that it waits")
        broker.stop()
        error = str(self.assertRaises(BrokerDidNotStart, broker.start))
        self.assertIn("belongs to cluster", error)
        self.assertGreaterEqual(segment.stat().st_size, size)

    def test_stock_settings(self) -> None:
        """The server.properties of Apache Kafka 3.9 starts a broker on its ZooKeeper."""
        self.serve()
        stock: dict[str, str | int] = {**read_properties(str(STOCK))}
        del stock["log.dirs"]
        stock["zookeeper.connect"] = f"127.0.0.1:{self.server.port}{self.chroot}"
        broker = EmbeddedBroker(stock, run_in="process")
        self.addCleanup(broker.close)
        broker.start()
        broker.produce(broker.topic("t"), "x")
        self.assertEqual(self.zookeeper().get_children("/brokers/ids"), ["0"])

    def test_migration(self) -> None:
        """A cluster that migrates to KRaft is refused."""
        self.serve()
        client = self.zookeeper()
        client.ensure_path("/")
        client.create("/migration", b'{"version":0,"kraft_controller_id":3000,"kraft_controller_epoch":1}')
        client.create(
            "/controller", b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":1}'
        )
        error = str(self.assertRaises(BrokerDidNotStart, self.broker(1).start))
        self.assertIn("KRaft", error)

    def test_newer_node_at_start(self) -> None:
        """A node that a newer Apache Kafka wrote is refused by name, rather than misread."""
        self.serve()
        client = self.zookeeper()
        client.ensure_path("/brokers/topics")
        client.create("/brokers/topics/t", b'{"version":99,"partitions":{"0":[1]}}')
        error = str(self.assertRaises(BrokerDidNotStart, self.broker(1).start))
        self.assertIn("/brokers/topics/t", error)
        self.assertIn("99", error)


class SessionTests(FaultCase):
    def test_expired(self) -> None:
        """A broker that is cut off takes nothing any more when others see it as dead; it comes back."""
        self.serve()
        other = self.broker(1).start()
        broker, proxy = self.proxied(2)
        until(lambda: len(metadata(other).brokers) == 2, "both brokers are known")
        topic = other.topic("t", partitions=2)
        mine = next(number for number, leader in leaders(other, topic).items() if leader == 2)
        self.writable(broker, topic, mine)
        epoch = self.zookeeper().exists("/brokers/ids/2").czxid
        proxy.cut()
        while leaders(other, topic)[mine] == 2:
            code = write(broker, topic, mine)  # a lease that has ended may not begin again
        self.assertEqual((code, write(broker, topic, mine)), (NOT_LEADER, NOT_LEADER))
        self.assertEqual(write(other, topic, 1 - mine), NONE)
        proxy.heal()
        until(lambda: leaders(other, topic)[mine] == 2, "the broker leads again")
        self.writable(broker, topic, mine)
        self.assertGreater(self.zookeeper().exists("/brokers/ids/2").czxid, epoch)

    def test_stopped_for_longer(self) -> None:
        """A broker whose process was stopped for longer than its session acts on nothing that it knew."""
        self.serve()
        other = self.broker(1).start()
        broker = self.broker(2).start()
        until(lambda: len(metadata(other).brokers) == 2, "both brokers are known")
        topic = other.topic("t", partitions=2)
        mine = next(number for number, leader in leaders(other, topic).items() if leader == 2)
        self.writable(broker, topic, mine)
        self.signal(broker, signal.SIGSTOP)
        until(lambda: leaders(other, topic)[mine] == -1, "the partition has no leader")
        codes: list[int] = []
        early = threading.Thread(target=lambda: codes.append(write(broker, topic, mine)))
        early.start()
        self.signal(broker, signal.SIGCONT)
        early.join(WAIT_S)
        self.assertEqual(codes, [NOT_LEADER])
        until(lambda: leaders(other, topic)[mine] == 2, "the broker leads again")
        self.writable(broker, topic, mine)

    def test_same_id(self) -> None:
        """A second broker with the id of one that runs is refused, with the address of that one."""
        self.serve()
        first = self.broker(1).start()
        error = str(self.assertRaises(BrokerDidNotStart, self.broker(1).start))
        self.assertIn("broker.id=1: another broker is registered with it", error)
        self.assertIn(first.bootstrap, error)
        first.produce(first.topic("t"), "x")

    def test_past_life(self) -> None:
        """A killed broker that is started at once does not wait for its own session, and leads again."""
        self.server = ZooKeeperServer(Path(self.mktemp()), free_port())  # its ticks allow long sessions
        self.addCleanup(self.server.kill)
        self.serve()
        broker = self.broker(1, zookeeper_session_timeout_ms=LONG_SESSION_MS).start()
        topic = broker.topic("t")
        broker.produce(topic, "before")
        broker.kill()
        broker.start()
        self.assertIn("takes over from its past life", broker.output())
        broker.produce(topic, "after")
        self.assertEqual([message.value for message in broker.messages(topic, 2)], [b"before", b"after"])


class EnsembleTests(SynchronousTestCase):
    def test_leader_killed(self) -> None:
        """Produce requests do not notice a failed ZooKeeper server; changes of the cluster wait a little."""
        ensemble = shared_ensemble()
        ensemble.restore()
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in ensemble.servers)
        broker = EmbeddedBroker(
            {"broker.id": 1, "zookeeper.connect": f"{hosts}/{uuid.uuid4().hex}"}, run_in="process"
        )
        self.addCleanup(broker.close)
        broker.start()
        topic = broker.topic("t")
        ensemble.leader().kill()
        self.assertEqual([write(broker, topic, 0) for _ in range(200)], [NONE] * 200)
        broker.topic("new")
        self.assertEqual([write(broker, topic, 0) for _ in range(200)], [NONE] * 200)


class CreationTests(FaultCase):
    def creating(self, broker: EmbeddedBroker) -> threading.Thread:
        """Ask a broker to create 20 topics; do not wait."""

        def ask() -> None:
            with contextlib.suppress(OSError, EOFError):
                create(broker, *(f"t{number}" for number in range(20)))

        creating = threading.Thread(target=ask)
        creating.start()
        return creating

    def test_killed_controller(self) -> None:
        """A controller that is killed in the middle of topics' creation leaves none of them half made."""
        self.serve()
        first, second = self.broker(1).start(), self.broker(2).start()
        until(lambda: len(metadata(second).brokers) == 2, "both brokers are known")
        self.assertEqual(metadata(second).controller_id, 1)
        creating = self.creating(second)
        client = self.zookeeper()
        until(lambda: len(client.get_children("/brokers/topics")) >= 5, "some topics are created")
        first.kill()
        first.settings["listeners"] = f"PLAINTEXT://{first.bootstrap}"
        first.start()
        creating.join(WAIT_S)
        made = client.get_children("/brokers/topics")
        for name in made:
            content = json.loads(client.get(f"/brokers/topics/{name}")[0])
            self.assertEqual(len(content["partitions"]), PARTITIONS)
            self.assertTrue(client.exists(f"/config/topics/{name}"), name)
            self.led(second, name, content["partitions"])

    def test_killed_creator(self) -> None:
        """A broker that is killed while it creates topics leaves whole ones, which the controller serves."""
        self.serve()
        first, second = self.broker(1).start(), self.broker(2).start()
        until(lambda: len(metadata(first).brokers) == 2, "both brokers are known")
        creating = self.creating(second)
        client = self.zookeeper()
        until(lambda: len(client.get_children("/brokers/topics")) >= 5, "some topics are created")
        second.kill()
        creating.join(WAIT_S)
        for name in client.get_children("/brokers/topics"):
            content = json.loads(client.get(f"/brokers/topics/{name}")[0])
            self.assertEqual(len(content["partitions"]), PARTITIONS)
            gone = {
                number: [-1] if replicas == [2] else [1] for number, replicas in content["partitions"].items()
            }
            self.led(first, name, gone)
            own = [int(number) for number, replicas in content["partitions"].items() if replicas == [1]]
            self.writable(first, name, own[0])
