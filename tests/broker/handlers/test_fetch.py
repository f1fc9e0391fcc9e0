"""Fetch: the records that are returned, their number, and the time of the reply."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import CancelledError, Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.batch import parse_header
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tests.broker.running import NOW_MS, BrokerTestCase, codes, values

VERSIONS = range(13)


def asking(*offsets: int, max_bytes: int = 1 << 20, epoch: int = -1, topic: str = "t") -> list[FetchTopic]:
    """Return a request topic with partitions 0, 1, ..., each from the given offset on."""
    return [
        FetchTopic(
            topic,
            partitions=[
                FetchPartition(number, epoch, offset, partition_max_bytes=max_bytes)
                for number, offset in enumerate(offsets)
            ],
        )
    ]


def raw(part: PartitionData) -> memoryview:
    """Return the records of a decoded response, a slice of the received bytes."""
    assert isinstance(part.records, memoryview)
    return part.records


class FetchTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        self.make_topic("t", 2)

    def fetch(
        self, topics: list[FetchTopic] | None = None, version: int = 12, **fields: Any
    ) -> FetchResponse:
        """Return the response to a fetch that does not wait."""
        request = FetchRequest(topics=asking(0) if topics is None else topics, **{"max_wait_ms": 0, **fields})
        response: FetchResponse = self.ask(1, version, request)
        return response

    def parts(self, *args: Any, **fields: Any) -> list[PartitionData]:
        """Return the partitions' parts of such a response."""
        (topic,) = self.fetch(*args, **fields).responses
        return topic.partitions

    def park(
        self, topics: list[FetchTopic] | None = None, min_bytes: int = 1, **fields: Any
    ) -> Deferred[Any]:
        """Send a fetch that waits 500 ms at most."""
        wanted = asking(0) if topics is None else topics
        request = FetchRequest(max_wait_ms=500, min_bytes=min_bytes, topics=wanted, **fields)
        answer = self.answer(1, 12, request)
        return answer if isinstance(answer, Deferred) else self.wrap(answer)

    def wrap(self, answer: Any) -> Deferred[Any]:
        """Return a Deferred that has fired with *answer*."""
        done: Deferred[Any] = Deferred()
        done.callback(answer)
        return done

    def came(self, waiting: Deferred[Any]) -> list[PartitionData]:
        """Return the parts of a reply that has arrived."""
        response = self.response(1, 12, self.successResultOf(waiting))
        parts: list[PartitionData] = response.responses[0].partitions
        return parts


class ReadTests(FetchTestCase):
    def test_every_version(self) -> None:
        """Every version returns the records in a magic that it supports: 0, then 1, then 2."""
        self.fill(b"a", b"b")
        for version in VERSIONS:
            (part,) = self.parts(version=version)
            self.assertEqual((part.error_code, values(part.records)), (0, [b"a", b"b"]), version)
            magics = {span.magic for span in batches(raw(part))}
            self.assertEqual(magics, {0 if version < 2 else 1 if version < 4 else 2}, version)
            self.assertEqual(part.high_watermark, 2)
            self.assertEqual(part.last_stable_offset, 2 if version >= 4 else -1)
            self.assertEqual(part.log_start_offset, 0 if version >= 5 else -1)

    def test_the_bytes_of_the_producer(self) -> None:
        """The bytes of a batch are returned as they were sent, except base offset and leader epoch."""
        sent = [build_values([b"v" * 100] * 3, NOW_MS, codec) for codec in Codec]
        for records in sent:
            self.produce(records)
        (part,) = self.parts()
        got = bytes(raw(part))
        at = 0
        for number, records in enumerate(sent):
            header = parse_header(got, at)
            self.assertEqual((header.base_offset, header.partition_leader_epoch), (3 * number, 0))
            self.assertEqual(got[at + 8 : at + 12], records[8:12])
            self.assertEqual(got[at + 16 : at + len(records)], records[16:])
            at += len(records)
        self.assertEqual(at, len(got))

    def test_within_a_batch(self) -> None:
        """An offset in the middle of a batch returns the whole batch, which clients filter."""
        self.fill(b"a", b"b", b"c")
        (part,) = self.parts(asking(2))
        self.assertEqual(values(part.records), [b"a", b"b", b"c"])

    def test_old_clients_within_a_batch(self) -> None:
        """Records keep their offsets when they are converted for old clients."""
        self.fill(b"a", b"b", b"c")
        for version in range(4):
            (part,) = self.parts(asking(1), version=version)
            found = {record.offset: record.value for record in iter_any(raw(part))}
            self.assertEqual((found[1], found[2]), (b"b", b"c"), version)

    def test_first_batch_is_whole(self) -> None:
        """The first batch is returned whole, even above max_bytes of the partition and of the request."""
        self.fill(b"v" * 1000)
        self.fill(b"w")
        for topics, limit in (
            (asking(0, max_bytes=10), 1 << 20),
            (asking(0), 10),
            (asking(0, max_bytes=0), 0),
        ):
            (part,) = self.parts(topics, max_bytes=limit)
            self.assertEqual(values(part.records), [b"v" * 1000])

    def test_only_the_first_exceeds(self) -> None:
        """The request's max_bytes applies to the partitions after the first that has records."""
        self.fill(b"v" * 1000)
        self.fill(b"w" * 1000, partition=1)
        first, second = self.parts(asking(0, 0), max_bytes=1100)
        self.assertEqual((values(first.records), values(second.records)), ([b"v" * 1000], []))
        first, second = self.parts(asking(1, 0), max_bytes=10)
        self.assertEqual((values(first.records), values(second.records)), ([], [b"w" * 1000]))

    def test_partition_max_bytes(self) -> None:
        """The limit partition_max_bytes applies to each partition."""
        for _ in range(10):
            self.fill(b"v" * 100)
        (part,) = self.parts(asking(0, max_bytes=500))
        self.assertLessEqual(len(part.records or b""), 500)
        self.assertEqual(values(part.records), [b"v" * 100] * 2)

    def test_end_of_the_log(self) -> None:
        """A fetch at the end of the log returns no records and no error."""
        self.fill(b"a")
        (part,) = self.parts(asking(1))
        self.assertEqual((part.error_code, len(raw(part)), part.high_watermark), (0, 0, 1))

    def test_not_above_the_high_watermark(self) -> None:
        """Records above the high watermark are not returned, whatever the isolation level."""
        self.fill(b"a")
        self.fill(b"b")
        self.broker.topics.of("t")[0].high_watermark = 1
        for isolation_level in (0, 1):
            (part,) = self.parts(isolation_level=isolation_level)
            self.assertEqual((values(part.records), part.high_watermark), ([b"a"], 1))

    def test_read_committed(self) -> None:
        """A read_committed fetch has the high watermark as last stable offset, and no aborted ones."""
        self.fill(b"a")
        (part,) = self.parts(isolation_level=1)
        self.assertEqual((part.last_stable_offset, part.aborted_transactions), (1, []))
        (part,) = self.parts(isolation_level=0)
        self.assertEqual((part.last_stable_offset, part.aborted_transactions), (1, None))

    def test_zstd_is_not_converted(self) -> None:
        """A zstd batch is an error for versions that need conversion; the next partition is read."""
        self.produce(build_values([b"v"], NOW_MS, Codec.ZSTD))
        self.fill(b"w", partition=1)
        for version in VERSIONS:
            zstd, plain = self.parts(asking(0, 0), version=version)
            expected = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 4 else 0
            self.assertEqual((zstd.error_code, values(plain.records)), (expected, [b"w"]), version)
            self.assertEqual(values(zstd.records), [b"v"] if version >= 4 else [])

    def test_zstd_topic_needs_version_10(self) -> None:
        """A topic with compression.type=zstd is an error before version 10, as in Apache Kafka."""
        self.make_topic("zstd", compression_type="zstd")
        self.fill(b"v", topic="zstd")
        for version in VERSIONS:
            (part,) = self.parts(asking(0, topic="zstd"), version=version)
            expected = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if version < 10 else 0
            self.assertEqual(part.error_code, expected, version)

    def test_storage_error(self) -> None:
        """A log that cannot be read is an error of its partition."""
        self.fill(b"v")
        self.fill(b"w", partition=1)

        def read(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        self.patch(self.broker.topics.of("t")[0].log, "read", read)
        first, second = self.parts(asking(0, 0))
        self.assertEqual((first.error_code, values(second.records)), (ErrorCode.KAFKA_STORAGE_ERROR, [b"w"]))

    def test_session(self) -> None:
        """A request for a session is answered in full, without a session."""
        self.fill(b"v")
        for version in range(7, 13):
            response = self.fetch(version=version, session_epoch=0)
            self.assertEqual((response.error_code, response.session_id), (0, 0))
            self.assertEqual(values(response.responses[0].partitions[0].records), [b"v"])

    def test_unknown_session(self) -> None:
        """An unknown session is an error of the whole reply."""
        for version in range(7, 13):
            response = self.fetch(version=version, session_id=5, session_epoch=1)
            self.assertEqual(
                (response.error_code, response.responses), (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
            )

    def test_session_that_ends(self) -> None:
        """A fetch with epoch 0 or -1 is a full fetch, whatever session it ends."""
        self.fill(b"v")
        for epoch in (0, -1):
            self.assertEqual(self.fetch(session_id=5, session_epoch=epoch).error_code, 0)


class ErrorTests(FetchTestCase):
    def test_unknown(self) -> None:
        """An unknown topic or partition is refused."""
        for topics in (asking(0, topic="u"), asking(0, topic="../x"), asking(0, topic="")):
            self.assertEqual(codes(self.parts(topics)), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        self.assertEqual(codes(self.parts(asking(0, 0, 0))), [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])

    def test_out_of_range(self) -> None:
        """An offset outside the log is out of range, and a fetch that may wait is answered at once."""
        self.fill(b"a")
        for offset in (2, -1, 2**62, -(2**63)):
            for version in VERSIONS:
                (part,) = self.parts(asking(offset), version=version)
                self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE, (offset, version))
            (part,) = self.came(self.park(asking(offset)))
            self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_below_the_start(self) -> None:
        """Records deleted by retention are out of range; the remaining ones are read."""
        self.fill(b"a")
        self.fill(b"b")
        self.broker.topics.of("t")[0].log.advance_log_start(1)
        self.assertEqual(codes(self.parts(asking(0))), [ErrorCode.OFFSET_OUT_OF_RANGE])
        (part,) = self.parts(asking(1))
        self.assertEqual((values(part.records), part.log_start_offset), ([b"b"], 1))

    def test_epochs(self) -> None:
        """An old leader epoch is fenced, a newer one is unknown, and both are answered at once."""
        self.broker.topics.of("t")[0].leader_epoch = 3
        for epoch, code in (
            (2, ErrorCode.FENCED_LEADER_EPOCH),
            (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
            (3, 0),
            (-1, 0),
        ):
            self.assertEqual(codes(self.parts(asking(0, epoch=epoch))), [code])
            if code:
                self.assertEqual(codes(self.came(self.park(asking(0, epoch=epoch)))), [code])

    def test_race_with_retention(self) -> None:
        """An OffsetOutOfRange raised only during the read is reported."""
        self.fill(b"a")

        def read(*_: object) -> None:
            raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)

        self.patch(self.broker.topics.of("t")[0].log, "read", read)
        self.assertEqual(codes(self.parts()), [ErrorCode.OFFSET_OUT_OF_RANGE])


class WaitTests(FetchTestCase):
    def check_nothing_left(self) -> None:
        """Assert that no timer runs and no fetch is parked."""
        self.assertEqual(self.clock.getDelayedCalls(), [])
        partitions = self.broker.topics.of("t")
        self.assertEqual([p.delayed_fetches for p in partitions], [set()] * len(partitions))

    def test_data_ends_it(self) -> None:
        """A parked fetch is answered as soon as min_bytes can be read."""
        waiting = self.park()
        self.assertNoResult(waiting)
        self.fill(b"v")
        (part,) = self.came(waiting)
        self.assertEqual(values(part.records), [b"v"])
        self.check_nothing_left()

    def test_min_bytes(self) -> None:
        """Fewer bytes than min_bytes do not end the wait; all partitions together count."""
        self.fill(b"v" * 100)
        waiting = self.park(asking(0, 0), min_bytes=300)
        self.fill(b"v", partition=1)
        self.assertNoResult(waiting)
        self.fill(b"v" * 100, partition=1)
        first, second = self.came(waiting)
        self.assertEqual((len(values(first.records)), len(values(second.records))), (1, 2))

    def test_enough_is_answered_at_once(self) -> None:
        """A fetch does not wait if min_bytes are there, or if min_bytes is 0."""
        self.came(self.park(min_bytes=0))
        self.fill(b"v")
        self.came(self.park())

    def test_min_bytes_above_the_limit(self) -> None:
        """A min_bytes above max_bytes is reduced to max_bytes, since no reply could hold more."""
        for _ in range(10):
            self.fill(b"v" * 100)
        (part,) = self.came(self.park(asking(0), min_bytes=10**6, max_bytes=500))
        self.assertTrue(values(part.records))

    def test_time_ends_it(self) -> None:
        """The reply is sent after max_wait_ms with the records available."""
        self.fill(b"v")
        waiting = self.park(min_bytes=10**6)
        self.clock.advance(0.499)
        self.assertNoResult(waiting)
        self.clock.advance(0.001)
        (part,) = self.came(waiting)
        self.assertEqual(values(part.records), [b"v"])
        self.check_nothing_left()

    def test_error_in_one_ends_it(self) -> None:
        """An error of one partition ends the wait, though the other has nothing to read."""
        (waiting, broken) = self.came(self.park(asking(0, 5)))
        self.assertEqual((waiting.error_code, broken.error_code), (0, ErrorCode.OFFSET_OUT_OF_RANGE))

    def test_no_partitions(self) -> None:
        """A fetch without partitions is answered at once."""
        answer = self.answer(1, 12, FetchRequest(max_wait_ms=500, min_bytes=1))
        self.assertNotIsInstance(answer, Deferred)
        self.assertEqual(self.response(1, 12, answer).responses, [])

    def test_cancelled(self) -> None:
        """A cancelled fetch leaves no timer and is not parked any more."""
        waiting = self.park(asking(0, 0))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.check_nothing_left()
        self.fill(b"v")

    def test_deleted_topic_ends_it(self) -> None:
        """A fetch that waits for a topic is answered at once when the topic is deleted."""
        waiting = self.park()
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.assertEqual(codes(self.came(waiting)), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        self.check_nothing_left()

    def test_many_wait(self) -> None:
        """All fetches parked at a partition are answered by one write."""
        waiting = [self.park() for _ in range(5)]
        self.fill(b"v")
        for one in waiting:
            (part,) = self.came(one)
            self.assertEqual(values(part.records), [b"v"])


class LimitTests(FetchTestCase):
    settings: ClassVar[Mapping[str, str]] = {"fetch.max.bytes": "1024"}

    def test_fetch_max_bytes(self) -> None:
        """No reply is larger than fetch.max.bytes, except that the first batch is whole."""
        for _ in range(20):
            self.fill(b"v" * 100)
        self.fill(b"w" * 2000, partition=1)
        first, second = self.parts(asking(0, 0))
        self.assertLessEqual(len(first.records or b""), 1024)
        self.assertEqual(values(second.records), [])
        (_, second) = self.parts(asking(20, 0))
        self.assertEqual(values(second.records), [b"w" * 2000])


class TopicIdTests(FetchTestCase):
    """Version 13 and later, in which topics are given by id."""

    def ask_by_id(self, topic_id: uuid.UUID, *offsets: int, max_wait_ms: int = 0) -> Any:
        """Return the dispatch's answer to a fetch of partitions 0, 1, ... of a topic."""
        (topic,) = asking(*offsets, topic="")
        topic.topic_id = topic_id
        return self.answer(1, 13, FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic]))

    def test_every_version(self) -> None:
        """Versions 13 to 16 read alike, without replica state in requests or addresses in replies."""
        self.fill(b"a")
        (topic,) = asking(0, topic="")
        topic.topic_id = self.topic_id()
        for version in range(13, 17):
            response = self.ask(1, version, FetchRequest(topics=[topic]))
            self.assertEqual((response.error_code, response.node_endpoints), (0, []))
            ((part,),) = (found.partitions for found in response.responses)
            self.assertEqual((part.error_code, values(part.records)), (0, [b"a"]))

    def by_id(self, topic_id: uuid.UUID, *offsets: int) -> FetchableTopicResponse:
        """Return the topic's part of the response."""
        (found,) = self.response(1, 13, self.ask_by_id(topic_id, *offsets)).responses
        part: FetchableTopicResponse = found
        return part

    def topic_id(self) -> uuid.UUID:
        """Return the id of topic t."""
        found: uuid.UUID = self.broker.metadata.state.topics["t"].topic_id
        return found

    def replace(self) -> None:
        """Delete the topic t and make another of that name, with one partition."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.make_topic("t", 1)

    def test_read(self) -> None:
        """Records are read, and the response has the topic's id, too."""
        self.fill(b"a")
        found = self.by_id(self.topic_id(), 0, 0)
        self.assertEqual((found.topic_id, codes(found.partitions)), (self.topic_id(), [0, 0]))
        self.assertEqual(values(found.partitions[0].records), [b"a"])

    def test_unknown(self) -> None:
        """An unknown or former topic id is refused; so is an unknown partition."""
        old = self.topic_id()
        self.replace()
        for topic_id in (uuid.uuid4(), old):
            found = self.by_id(topic_id, 0)
            self.assertEqual(
                (found.topic_id, codes(found.partitions)), (topic_id, [ErrorCode.UNKNOWN_TOPIC_ID])
            )
        codes_of_new = codes(self.by_id(self.topic_id(), 0, 0).partitions)
        self.assertEqual(codes_of_new, [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])

    def test_several_unknown(self) -> None:
        """Several unknown topics are reported separately."""
        topics = [asking(0, topic="")[0] for _ in range(3)]
        topics[0].topic_id, topics[1].topic_id = uuid.uuid4(), uuid.uuid4()
        topics[2].topic_id = self.topic_id()
        response = self.response(1, 13, self.answer(1, 13, FetchRequest(topics=topics)))
        self.assertEqual([one.topic_id for one in response.responses], [one.topic_id for one in topics])
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        self.assertEqual([codes(one.partitions) for one in response.responses], [[unknown], [unknown], [0]])

    def test_waits(self) -> None:
        """A fetch by id waits for records like any other."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        self.assertNoResult(waiting)
        self.fill(b"v")
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(values(found.partitions[0].records), [b"v"])

    def test_deleted_while_it_waits(self) -> None:
        """A fetch by id that waits for a topic is answered at once when the topic is deleted."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        self.replace()
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(codes(found.partitions), [ErrorCode.UNKNOWN_TOPIC_ID])

    def test_replaced_while_it_waits(self) -> None:
        """A fetch that waits for a replaced topic gets none of the new topic's records."""
        waiting = self.ask_by_id(self.topic_id(), 0, max_wait_ms=500)
        state = self.broker.metadata.state
        other = attrs.evolve(state.topics["t"], topic_id=uuid.uuid4())
        self.patch(self.broker.metadata, "state", attrs.evolve(state, topics={"t": other}))
        self.fill(b"other")
        (found,) = self.response(1, 13, self.successResultOf(waiting)).responses
        self.assertEqual(codes(found.partitions), [ErrorCode.INCONSISTENT_TOPIC_ID])
        self.assertEqual(values(found.partitions[0].records), [])
