"""Several whole brokers in one process: logs in files, one tree in memory, one clock that the test moves."""

from __future__ import annotations

import os
from typing import Any, ClassVar, TypeVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import OFFERED, SERVED
from kafkatx.broker.replica.logs.broker_life import ProcessLife
from kafkatx.config import BrokerConfig
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.metadata.tree.memory import Link
from kafkatx.net.requests import ExclusiveReply, Peer, Staged
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.records.builder import build_values
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.partition_log import find_retention
from kafkatx.types import BrokerNode
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.schema import Message
from tests.broker.network import MemoryNetwork
from tests.broker.running import NOW_MS, at_once, joined, produce_request
from tests.log.fakes import QuickFiles, crash
from tests.metadata.cluster.memory import MemoryStores

T = TypeVar("T")

NOT_LEADER, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE = 6, 3, 5
LIMITS = Limits(1 << 27, -1, -1)
RETRIABLE = {NOT_LEADER, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE}
"""The errors after which a client asks for the leader again."""


class ClusterBroker:
    """One life of one broker.

    :ivar link: its connection to the tree.
    """

    def __init__(
        self,
        stores: MemoryStores,
        broker_id: int,
        path: str,
        network: MemoryNetwork | None = None,
        **settings: str,
    ) -> None:
        values = {"log.dirs": path, "broker.id": str(broker_id), "broker.rack": f"r{broker_id}", **settings}
        config = BrokerConfig.load(None, values)
        self.id = broker_id
        self.clock = stores.clock
        self.metadata: ClusterMetadataStore = stores.make_store()
        self.link: Link = stores.trees[self.metadata].link
        self.store = FileLogStore(config, at_once, stores.clock, find_retention, QuickFiles())
        self.network = network or MemoryNetwork(stores.clock)
        self.broker = Broker(
            config,
            self.metadata,
            self.store,
            stores.clock,
            at_once,
            stores.now_ms,
            self.network.endpoints_of(broker_id),
        )
        self.broker.offered = dict(OFFERED)
        self.dispatch = Dispatch(self.broker, SERVED)
        self.peer = Peer("127.0.0.1", 40_000, "127.0.0.1", 9092)

    async def start(self) -> None:
        """Start, as ``BrokerService`` does."""
        node = BrokerNode(self.id, f"b{self.id}", 9100 + self.id, self.broker.config.get("broker.rack"))
        await self.metadata.start(node)
        await self.broker.open()
        factory = KafkaServerFactory(self.dispatch, LIMITS, self.clock)
        self.network.listen(self.id, (node.host, node.port), factory)
        life = ProcessLife(self.store.dirs, at_once, self.broker.topics.distrust)
        await self.metadata.register([one.directory_id for one in self.store.dirs], True, life)
        self.broker.fetchers.start()
        await self.broker.groups.open()
        self.broker.transactions.open()

    async def stop(self) -> None:
        """Stop, as ``BrokerService`` does."""
        self.network.close(self.id)
        self.broker.groups.stop()
        self.broker.transactions.stop()
        await self.broker.fetchers.stop()
        await self.broker.topic_commands.settled()
        await self.broker.topics.settled()
        self.broker.flushes.stop()
        self.broker.commit_timeouts.stop()
        await self.broker.topics.placements.record()
        await self.store.close()
        await self.metadata.stop()

    def kill(self) -> None:
        """End as by kill -9: nothing reaches the logs or the tree any more."""
        self.link.kill()
        self.network.close(self.id)
        self.broker.fetchers.stop()
        self.broker.groups.stop()
        self.broker.transactions.stop()
        self.broker.topics.settled()
        self.broker.flushes.stop()
        self.broker.commit_timeouts.stop()
        crash(self.store)

    def answer(self, key: int, version: int, request: Message) -> Any:
        """Return the answer of the dispatch; what it has staged is written."""
        header = encode_request_header(key, version, 1, "tests")
        answer = self.dispatch.answer(memoryview(header + codec.encode(request, version)), self.peer)
        if isinstance(answer, Staged):
            answer = answer.finish(self.broker.write_staged())
            self.broker.replicas.wake_waiting()
        return answer.reply if isinstance(answer, ExclusiveReply) else answer


class ClusterOfBrokersCase(SynchronousTestCase):
    """Brokers 1, 2 and 3, which are started.

    :ivar brokers: the live brokers by id.
    """

    settings: ClassVar[dict[str, str]] = {
        "offsets.topic.num.partitions": "6",
        "group.initial.rebalance.delay.ms": "0",
    }

    def setUp(self) -> None:
        """Start three brokers."""
        self.stores = MemoryStores()
        self.stores.clock.advance(NOW_MS / 1000)
        self.network = MemoryNetwork(self.stores.clock)
        self.brokers: dict[int, ClusterBroker] = {}
        self.paths = {broker_id: os.path.abspath(self.mktemp()) for broker_id in (1, 2, 3)}
        self.addCleanup(self.kill_all)
        for broker_id in self.paths:
            self.start(broker_id)

    # --- brokers

    def start(self, broker_id: int) -> ClusterBroker:
        """Start a broker."""
        one = ClusterBroker(self.stores, broker_id, self.paths[broker_id], self.network, **self.settings)
        self.brokers[broker_id] = one
        self.run_to_end(Deferred.fromCoroutine(one.start()))
        return one

    def kill(self, broker_id: int) -> None:
        """Kill a broker."""
        self.brokers.pop(broker_id).kill()

    def kill_all(self) -> None:
        """Kill all brokers."""
        for broker_id in list(self.brokers):
            self.kill(broker_id)

    def stop(self, broker_id: int) -> None:
        """Stop a broker in order."""
        self.run_to_end(Deferred.fromCoroutine(self.brokers.pop(broker_id).stop()))

    def advance(self, seconds: float) -> None:
        """Move the clock on."""
        self.stores.advance(seconds)

    def run_to_end(self, waiting: Deferred[T]) -> T:
        """Move the clock on until a Deferred has fired; return its result."""
        self.stores.run(waiting)
        return self.successResultOf(waiting)

    # --- a client

    def ask(self, broker_id: int, key: int, version: int, request: Message) -> Any:
        """Ask a broker; return the response."""
        reply = self.brokers[broker_id].answer(key, version, request)
        if isinstance(reply, Deferred):
            waiting: Deferred[Any] = Deferred()
            reply.addBoth(waiting.callback)  # it may wait for another Deferred after it was called
            reply = self.run_to_end(waiting)
        return self.response(key, version, reply)

    def response(self, key: int, version: int, reply: Any) -> Any:
        """Decode a reply."""
        data = joined(reply)
        assert data is not None
        body = memoryview(data)[4:]
        _, at = decode_response_header(key, version, body)
        return codec.decode(APIS[key].response, version, body[at:])

    def create(self, name: str, partitions: int, by: int = 1, replicas: int = 1) -> None:
        """Create a topic."""
        topic = CreatableTopic(name, partitions, replicas, [], [])
        response = self.ask(by, 19, 5, CreateTopicsRequest([topic]))
        self.assertEqual([topic.error_code for topic in response.topics], [0], response.topics)

    def leaders(self, topic: str, by: int | None = None) -> list[int]:
        """Return the leader of each partition, as a broker knows it; -1: there is none."""
        state = self.brokers[by or min(self.brokers)].metadata.state
        return [one.leader if one.leader in state.brokers else -1 for one in state.topics[topic].partitions]

    def epochs(self, topic: str) -> list[int]:
        """Return the leader epoch of each partition."""
        state = self.brokers[min(self.brokers)].metadata.state
        return [one.leader_epoch for one in state.topics[topic].partitions]

    def produce_to(self, broker_id: int, topic: str, partition: int, value: bytes) -> int:
        """Produce one record to one broker; return the error."""
        records = build_values([value], self.stores.now_ms())
        response = self.ask(broker_id, 0, 9, produce_request(records, -1, topic, partition))
        error: int = response.responses[0].partition_responses[0].error_code
        return error

    def produce(self, topic: str, partition: int, value: bytes, patience_s: float = 0.0) -> int:
        """Produce one record to the leader, as a client does that looks for it again; return the error."""
        end_s = self.stores.clock.seconds() + patience_s
        while True:
            leader = self.leaders(topic)[partition]
            known = leader in self.brokers
            error = self.produce_to(leader, topic, partition, value) if known else LEADER_NOT_AVAILABLE
            if error not in RETRIABLE or self.stores.clock.seconds() >= end_s:
                return error
            self.advance(0.1)

    def values(self, topic: str, partition: int) -> list[bytes | None]:
        """Return all values of a partition, fetched from its leader."""
        asked = FetchTopic(
            topic, partitions=[FetchPartition(partition, fetch_offset=0, partition_max_bytes=1 << 20)]
        )
        leader = self.leaders(topic)[partition]
        response = self.ask(leader, 1, 12, FetchRequest(max_wait_ms=0, topics=[asked]))
        (found,) = response.responses[0].partitions
        self.assertEqual(found.error_code, 0)
        return [record.value for record in iter_any(memoryview(found.records))]
