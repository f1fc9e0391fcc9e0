"""Transactions over three whole brokers, with lost replies, kills and restarts at random.

The model knows what each producer was told. A transaction whose commit was acknowledged is shown whole and
once, one that was aborted never; one whose outcome its client does not know is shown whole or not at all.
"""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any, ClassVar

from kafkatx.broker.coordinator.transactions.sweeps import abort_each
from kafkatx.errors import ErrorCode
from kafkatx.records import conversion
from kafkatx.records.batch import parse_header
from kafkatx.records.control import read_marker
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkatx.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkatx.wire.schema import Message
from tests.broker.brokers import ClusterOfBrokersCase
from tests.broker.running import produce_request
from tests.broker.transactional import batch

PARTITIONS = 4
AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class Lost(Exception):
    """The producer does not know what has become of its request, or was told that it is fenced."""


class ClusterTransactionsCase(ClusterOfBrokersCase):
    """Three brokers with three copies of everything, and a topic ``t``."""

    settings: ClassVar[dict[str, str]] = {
        **ClusterOfBrokersCase.settings,
        "transaction.state.log.num.partitions": "3",
        "offsets.topic.num.partitions": "3",
    }

    def setUp(self) -> None:
        """Create the topics."""
        super().setUp()
        self.create("t", PARTITIONS, replicas=3)
        for topic in (self.brokers[1].broker.transactions.topic, self.brokers[1].broker.groups.topic):
            self.run_to_end(topic.ensure())
        self.advance(1)

    def ask_leader(self, topic: str, number: int, key: int, version: int, request: Message) -> Any:
        """Ask the leader of a partition.

        :raises Lost: there is none now.
        """
        leader = self.leaders(topic)[number]
        if leader not in self.brokers:
            raise Lost
        return self.ask(leader, key, version, request)

    def coordinator(self, name: str, key: int, version: int, request: Message) -> Any:
        """Ask the coordinator of a transactional id."""
        broker = self.brokers[min(self.brokers)].broker
        topic = broker.transactions.topic
        return self.ask_leader(topic.name, topic.partition_of(name), key, version, request)

    def group_coordinator(self, group: str, key: int, version: int, request: Message) -> Any:
        """Ask the coordinator of a group."""
        topic = self.brokers[min(self.brokers)].broker.groups.topic
        return self.ask_leader(topic.name, topic.partition_of(group), key, version, request)

    def patiently(self, call: Any, tries: int = 120) -> Any:
        """Call until the first error that is not to be repeated; return (error, response).

        :raises Lost: it takes too long.
        """
        for _ in range(tries):
            try:
                error, response = call()
            except Lost:
                error = None
            if error is not None and error not in AGAIN:
                return error, response
            self.advance(0.25)
        raise Lost

    def committed(self, partition: int) -> list[bytes]:
        """Return the values that a reader of committed records keeps."""
        offset, values = 0, list[bytes]()
        while True:
            found = self.fetch(partition, offset)
            kept, next_offset = keep(found)
            values += kept
            if next_offset < 0:
                return values
            offset = next_offset

    def fetch(self, partition: int, offset: int) -> Any:
        """Fetch committed records from an offset on; return the part of the response."""
        asked = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, max_bytes=1 << 22, isolation_level=1, topics=[FetchTopic("t", partitions=[asked])]
        )

        def call() -> tuple[ErrorCode, Any]:
            (found,) = self.ask_leader("t", partition, 1, 11, request).responses[0].partitions
            return ErrorCode.of(found.error_code), found

        error, found = self.patiently(call)
        self.assertEqual(error, ErrorCode.NONE)
        return found

    def settle(self) -> None:
        """Wait until the time-outs of all transactions have passed, so that none is open."""
        for _ in range(40):
            self.advance(0.5)
        for one in self.brokers.values():
            list(abort_each(one.broker.transactions))
        for _ in range(20):
            self.advance(0.5)


def keep(found: Any) -> tuple[list[bytes], int]:
    """Return what a consumer keeps of a fetch (no record of an aborted transaction), and the next offset."""
    aborted = sorted((one.first_offset, one.producer_id) for one in found.aborted_transactions or [])
    open_now: set[int] = set()
    values: list[bytes] = []
    data, next_offset = memoryview(found.records or b""), -1
    for span in conversion.batches(data):
        part = data[span.position : span.position + span.size]
        header, next_offset = parse_header(part), span.last_offset + 1
        while aborted and aborted[0][0] <= span.last_offset:
            open_now.add(aborted.pop(0)[1])
        if header.control:
            marker = read_marker(part)
            if marker is not None and not marker.committed:
                open_now.discard(header.producer_id)
        elif not (header.transactional and header.producer_id in open_now):
            values += [record.value or b"" for record in conversion.iter_any(part)]
    return values, next_offset


class Producer:
    """A producer of either version of transactions, and what it was told.

    :ivar told: for each of its transactions True (committed), False (aborted) or None (unknown).
    """

    def __init__(self, case: ClusterTransactionsCase, name: str, tv2: bool, random: Random) -> None:
        self.case = case
        self.name = name
        self.tv2 = tv2
        self.random = random
        self.producer: tuple[int, int] | None = None
        self.sequences: dict[int, int] = {}
        self.told: dict[int, bool | None] = {}
        self.wrote: dict[int, set[int]] = {}
        self.number = 0

    def init(self) -> None:
        """Get an id and an epoch."""

        def call() -> tuple[ErrorCode, Any]:
            request = InitProducerIdRequest(self.name, 5_000)
            response = self.case.coordinator(self.name, 22, 4, request)
            return ErrorCode.of(response.error_code), response

        error, response = self.case.patiently(call)
        self.case.assertEqual(error, ErrorCode.NONE)
        self.producer = response.producer_id, response.producer_epoch
        self.sequences = {}

    def once(self, call: Any) -> None:
        """Send a request that may be repeated, sometimes twice; :raises Lost: it is refused for good."""
        error, _ = self.case.patiently(call)
        if error:
            raise Lost
        if self.random.random() < 0.2:
            call()  # a duplicate

    def transact(self) -> None:
        """Run one transaction; remember what is known of it."""
        self.number += 1
        number = self.number
        self.wrote[number] = set()
        try:
            if self.producer is None:
                self.init()
            self.told[number] = False  # until a commit is asked for
            partitions = self.random.sample(range(PARTITIONS), self.random.randint(1, 3))
            if not self.tv2:
                self.once(lambda: self.add(partitions))
            for partition in partitions:
                self.write(partition, number)
            if self.random.random() < 0.5:
                self.commit_offset(number)
            commit = self.random.random() < 0.7
            if commit:
                self.told[number] = None
            self.end(commit)
            self.told[number] = commit
        except Lost:
            self.producer = None  # the application starts again

    def add(self, partitions: list[int]) -> tuple[ErrorCode, Any]:
        """Add partitions."""
        assert self.producer is not None
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic("t", partitions)],
        )
        response = self.case.coordinator(self.name, 24, 3, request)
        results = response.results_by_topic_v3_and_below[0].results_by_partition
        return ErrorCode.of(results[0].partition_error_code), response

    def write(self, partition: int, number: int) -> None:
        """Produce one record; repeat it with the same sequence until it is stored."""
        assert self.producer is not None
        sequence = self.sequences.get(partition, 0)
        value = f"{self.name}-{number}".encode()
        request = produce_request(batch([value], self.producer, sequence), -1, "t", partition, self.name)

        def call() -> tuple[ErrorCode, Any]:
            response = self.case.ask_leader("t", partition, 0, 12 if self.tv2 else 11, request)
            return ErrorCode.of(response.responses[0].partition_responses[0].error_code), response

        self.once(call)
        self.sequences[partition] = sequence + 1
        self.wrote[number].add(partition)

    def commit_offset(self, number: int) -> None:
        """Commit the number of the transaction as the offset of the producer's group."""
        assert self.producer is not None
        producer, group = self.producer, self.name
        if not self.tv2:

            def add() -> tuple[ErrorCode, Any]:
                request = AddOffsetsToTxnRequest(self.name, *producer, group)
                response = self.case.coordinator(self.name, 25, 3, request)
                return ErrorCode.of(response.error_code), response

            self.once(add)
        partitions = [TxnOffsetCommitRequestPartition(0, number)]
        request = TxnOffsetCommitRequest(
            self.name, group, *producer, topics=[TxnOffsetCommitRequestTopic("t", partitions)]
        )

        def call() -> tuple[ErrorCode, Any]:
            response = self.case.group_coordinator(group, 28, 5 if self.tv2 else 3, request)
            return ErrorCode.of(response.topics[0].partitions[0].error_code), response

        self.once(call)
        self.wrote[number].add(-1)

    def end(self, commit: bool) -> None:
        """End the transaction."""
        assert self.producer is not None
        producer, version = self.producer, 5 if self.tv2 else 3

        def call() -> tuple[ErrorCode, Any]:
            request = EndTxnRequest(self.name, *producer, commit)
            response = self.case.coordinator(self.name, 26, version, request)
            return ErrorCode.of(response.error_code), response

        if self.random.random() < 0.2:
            with contextlib.suppress(Lost):
                call()  # its reply is lost
        error, response = self.case.patiently(call)
        if error:
            raise Lost
        if self.tv2:
            self.producer = response.producer_id, response.producer_epoch
            self.sequences = {}

    def offset(self) -> int:
        """Return the stable committed offset of the producer's group."""
        topics = [OffsetFetchRequestTopics("t", [0])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(self.name, topics=topics)], require_stable=True
        )

        def call() -> tuple[ErrorCode, Any]:
            group = self.case.group_coordinator(self.name, 9, 8, request).groups[0]
            if group.error_code:
                return ErrorCode.of(group.error_code), None
            found = group.topics[0].partitions[0]
            return ErrorCode.of(found.error_code), found.committed_offset

        _, offset = self.case.patiently(call)
        found: int = offset
        return found


class WholeTests(ClusterTransactionsCase):
    """Transactions over several brokers."""

    def producer(self, tv2: bool, name: str = "a") -> Producer:
        """A producer that has an id."""
        producer = Producer(self, name, tv2, Random(1))
        producer.init()
        return producer

    def test_markers_everywhere(self) -> None:
        """A transaction over the partitions of all brokers is shown whole, in both versions."""
        self.assertEqual(set(self.leaders("t")), {1, 2, 3})
        for tv2 in (False, True):
            producer = self.producer(tv2, f"v{tv2}")
            if not tv2:
                self.assertEqual(producer.add(list(range(PARTITIONS)))[0], ErrorCode.NONE)
            producer.wrote[1] = set()
            for partition in range(PARTITIONS):
                producer.write(partition, 1)
            producer.commit_offset(1)
            producer.end(True)
            self.advance(2)
            for partition in range(PARTITIONS):
                self.assertIn(f"v{tv2}-1".encode(), self.committed(partition))
            self.assertEqual(producer.offset(), 1)

    def test_coordinator_killed(self) -> None:
        """The next coordinator writes the markers of a decision; an open transaction goes on."""
        first, second = self.producer(False, "a"), self.producer(False, "b")
        for one in (first, second):
            one.wrote[1] = set()
            one.add(list(range(PARTITIONS)))
            for partition in range(PARTITIONS):
                one.write(partition, 1)
        writers = [one.broker.marker_writer for one in self.brokers.values()]
        patched = [self.patch(w, "write", lambda *args: ErrorCode.NOT_LEADER_OR_FOLLOWER) for w in writers]
        first.end(True)
        self.assertEqual([value for n in range(PARTITIONS) for value in self.committed(n)], [])
        topic = self.brokers[1].broker.transactions.topic
        killed = self.leaders(topic.name)[topic.partition_of("a")]
        self.kill(killed)
        for one_patch in patched:
            one_patch.restore()
        self.advance(20)
        self.start(killed)
        self.advance(20)
        second.end(True)
        self.advance(5)
        for partition in range(PARTITIONS):
            self.assertEqual(sorted(self.committed(partition)), [b"a-1", b"b-1"])


class RandomTests(ClusterTransactionsCase):
    """Histories at random."""

    def test_random(self) -> None:
        """After kills, restarts and lost replies the committed records are those of the model."""
        for seed in range(3):
            if seed:
                self.kill_all()
                self.setUp()
            self.check(seed)

    def check(self, seed: int) -> None:
        """Play one history."""
        random = Random(seed)
        producers = [
            Producer(self, name, tv2, random) for name, tv2 in (("a", False), ("b", True), ("c", False))
        ]
        for _ in range(24):
            if random.random() < 0.15 and len(self.brokers) == 3:
                down = random.choice(list(self.brokers))
                (self.kill if random.random() < 0.7 else self.stop)(down)
                self.advance(random.choice((0.5, 8, 20)))
                if random.random() < 0.8:
                    self.start(down)
            elif len(self.brokers) < 3:
                self.start(({1, 2, 3} - set(self.brokers)).pop())
                self.advance(1)
            producer = random.choice(producers)
            producer.transact()
            if random.random() < 0.15:
                producer.producer = None  # it crashes, perhaps in the middle of nothing
        for broker_id in {1, 2, 3} - set(self.brokers):
            self.start(broker_id)
        self.settle()
        self.compare(seed, producers)

    def compare(self, seed: int, producers: list[Producer]) -> None:
        """Compare what is shown with what the producers know."""
        shown = {n: self.committed(n) for n in range(PARTITIONS)}
        for values in shown.values():
            self.assertEqual(len(values), len(set(values)), f"seed {seed}: doubled")
        for producer in producers:
            highest = 0
            for number, told in producer.told.items():
                value = f"{producer.name}-{number}".encode()
                seen = {n for n, values in shown.items() if value in values}
                wrote = {n for n in producer.wrote[number] if n >= 0}
                if told is True:
                    self.assertEqual(seen, wrote, f"seed {seed}: {value!r} was committed")
                elif told is False:
                    self.assertEqual(seen, set(), f"seed {seed}: {value!r} was aborted")
                else:
                    self.assertIn(seen, (wrote, set()), f"seed {seed}: {value!r} is torn")
                if -1 in producer.wrote[number] and (told or (told is None and seen)):
                    highest = number
            if highest:
                self.assertEqual(producer.offset(), highest, f"seed {seed}: {producer.name}")
        self.assertGreater(sum(told is True for one in producers for told in one.told.values()), 3)
