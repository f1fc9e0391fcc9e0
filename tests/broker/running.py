"""A broker in memory, which tests send frames to as a client would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import OFFERED, SERVED
from kafkatx.broker.replica.partition import Partition
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer, IMetadataStore, Worker
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.retention import TimeAndSizeRetention
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.net.requests import Peer, Reply, Staged
from kafkatx.records.builder import build_values
from kafkatx.records.conversion import batches, iter_any
from kafkatx.types import BrokerNode, FileSlice
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from kafkatx.wire.schema import Message
from tests.broker.stored import in_memory

NOW_MS = 1_700_000_000_000
NODE = BrokerNode(0, "127.0.0.1", 9092, "rack a")
CORRELATION_ID = 77


def at_once(name: str) -> Worker:
    """Return a worker that runs its calls at once."""
    return execute


def joined(reply: Reply) -> bytes | None:
    """Return the bytes of a reply as they are sent."""
    if reply is None:
        return None
    return b"".join(c.tobytes() if isinstance(c, FileSlice) else c for c in reply)


class Held:
    """Workers that work when the test says so, in place of a real broker's slow ones."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, Deferred[Any]]] = []
        self.holding = True

    def __call__(self, name: str) -> Worker:
        """Return the one worker that all names share."""
        return self._run

    def _run(self, function: Any) -> Deferred[Any]:
        if not self.holding:
            return execute(function)
        done: Deferred[Any] = Deferred()
        self._waiting.append((function, done))
        return done

    def work(self, steps: int = 100) -> None:
        """Run the waiting work and the work it creates, up to a limit."""
        while self._waiting and steps:
            steps -= 1
            function, done = self._waiting.pop(0)
            execute(function).chainDeferred(done)


class BrokerTestCase(SynchronousTestCase):
    """A test case with a running broker; ``self.ask(key, version, request)`` returns its response."""

    settings: ClassVar[Mapping[str, str]] = {}
    node = NODE
    make_endpoint: Any = None

    def setUp(self) -> None:
        """Start a broker."""
        self.clock = self.make_clock()
        self.now_ms = NOW_MS
        self.peer = Peer("127.0.0.1", 40_000, "127.0.0.1", 9092)
        self.broker = self.make_broker()
        self.dispatch = Dispatch(self.broker, SERVED)

    def make_clock(self) -> Any:
        """Return a clock that only the test moves."""
        return Clock()

    def make_broker(self, workers: Any = at_once, **settings: str) -> Broker:
        """Return a started broker with a metadata store and a log store in memory."""
        config = BrokerConfig.load(None, {"kafkatx.storage": "memory", **self.settings, **settings})
        metadata = self.make_metadata(config, workers)
        store = MemoryLogStore(config, workers, self.clock, lambda name: TimeAndSizeRetention())
        broker = Broker(
            *(config, metadata, store, self.clock, workers, lambda: self.now_ms, self.make_endpoint),
            authorizer=self.make_authorizer(config),
        )
        broker.offered = dict(OFFERED)
        starting = metadata.start(self.node)
        if isinstance(workers, Held):
            workers.work()
        self.successResultOf(starting)
        self.addCleanup(metadata.stop)
        self.successResultOf(Deferred.fromCoroutine(broker.topics.open()))
        self.successResultOf(metadata.register([]))
        self.successResultOf(Deferred.fromCoroutine(broker.groups.open()))
        broker.transactions.open()
        self.addCleanup(broker.groups.stop)
        self.addCleanup(broker.transactions.stop)
        return broker

    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer | None:
        """Return what decides who may do what; None: everything is allowed."""
        return None

    def make_metadata(self, config: BrokerConfig, workers: Any) -> IMetadataStore:
        """Return the metadata store of a new broker, which is not started."""
        return EmbeddedMetadataStore(config, workers, durable=False)

    def make_topic(self, name: str = "t", partitions: int = 1, **configs: str) -> list[Partition]:
        """Create a topic; return its partitions. ``_`` in config names stands for ``.``."""
        plan = self.broker.topic_commands.plan(partitions, 1)
        named = {config.replace("_", "."): value for config, value in configs.items()}
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.create(name, plan, named)))
        return self.broker.topics.of(name)

    # --- requests

    def frame(self, key: int, version: int, request: Message, client_id: str | None = "tests") -> memoryview:
        """Return the bytes of a request without its size."""
        header = encode_request_header(key, version, CORRELATION_ID, client_id)
        return memoryview(header + codec.encode(request, version))

    def answer(self, key: int, version: int, request: Message) -> Any:
        """Return the dispatch's answer; produce requests are written and finished."""
        answer = self.dispatch.answer(self.frame(key, version, request), self.peer)
        if isinstance(answer, Staged):
            done = answer.finish(self.broker.write_staged())
            self.broker.replicas.wake_waiting()
            return done
        return answer

    def ask(self, key: int, version: int, request: Message) -> Any:
        """Return the response to a request, decoded from the frame that is sent, or None."""
        answer = self.answer(key, version, request)
        return self.response(
            key, version, self.successResultOf(answer) if isinstance(answer, Deferred) else answer
        )

    def response(self, key: int, version: int, reply: Reply) -> Any:
        """Decode a reply."""
        data = joined(reply)
        if data is None:
            return None
        self.assertEqual(int.from_bytes(data[:4], "big"), len(data) - 4)
        body = memoryview(data)[4:]
        correlation_id, at = decode_response_header(key, version, body)
        self.assertEqual(correlation_id, CORRELATION_ID)
        return codec.decode(APIS[key].response, version, body[at:])

    def produce(
        self,
        records: bytes | None,
        version: int = 9,
        acks: int = -1,
        topic: str = "t",
        partition: int = 0,
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        """Produce to one partition; return its part of the response."""
        response = self.ask(0, version, produce_request(records, acks, topic, partition, transactional_id))
        (of_topic,) = response.responses
        (result,) = of_topic.partition_responses
        self.assertEqual((of_topic.name, result.index), (topic, partition))
        produced: PartitionProduceResponse = result
        return produced

    def fill(self, *values: bytes, topic: str = "t", partition: int = 0, timestamp_ms: int = NOW_MS) -> None:
        """Produce values, all in one batch."""
        result = self.produce(build_values(values, timestamp_ms), topic=topic, partition=partition)
        self.assertEqual(result.error_code, 0)

    def stored(self, topic: str = "t", partition: int = 0) -> list[bytes | None]:
        """Return the values that the log of a partition holds."""
        found = self.broker.topics.find(topic, partition)
        assert found is not None
        end = found.log.log_end_offset
        data = b""
        while True:
            next_offset = max((span.last_offset + 1 for span in batches(memoryview(data))), default=0)
            more = found.log.read(next_offset, 1 << 30, end, True)
            if not more:
                return [record.value for record in iter_any(memoryview(data))]
            data += in_memory(more)


def produce_request(
    records: bytes | None,
    acks: int = -1,
    topic: str = "t",
    partition: int = 0,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return a produce request for one partition."""
    data = [TopicProduceData(topic, [PartitionProduceData(partition, records)])]
    return ProduceRequest(transactional_id, acks, 1000, data)


def values(records: Any) -> list[bytes | None]:
    """Return the values of fetched records."""
    return [record.value for record in iter_any(memoryview(records))]


def codes(results: Sequence[Any]) -> list[int]:
    """Return the error codes of a response's parts."""
    return [result.error_code for result in results]
