"""A source cluster in memory: brokers that answer what a mirror asks, from :class:`SourceLog` lists."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Answer, Peer, Reply
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_request_header, encode_response_header
from kafkatx.wire.messages import fetch, list_offsets, metadata, offset_for_leader_epoch
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkatx.wire.schema import NULL_UUID, Message
from tests.broker.mirror.source_log import SourceLog

PORT = 9092
MOST_WAIT_S = 0.3
API_VERSIONS, METADATA, FETCH, LIST_OFFSETS, EPOCHS = 18, 3, 1, 2, 23
VERSIONS = {API_VERSIONS: 3, METADATA: 12, FETCH: 16, LIST_OFFSETS: 7, EPOCHS: 4}
NOT_LEADER, OUT_OF_RANGE = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.OFFSET_OUT_OF_RANGE


@define
class SourceTopic:
    """A topic of the source."""

    topic_id: uuid.UUID
    logs: list[SourceLog]


@define
class FakeSource:
    """The brokers of a source, which agree about all at once.

    :ivar topics: the topics by name.
    :ivar versions: the highest version of each API key that the brokers speak.
    :ivar asked: the requests of each kind that have come, with their versions and brokers.
    :ivar answers: for each API key, a function that may answer a request in place of the source.
    """

    clock: IReactorTime
    node_ids: tuple[int, ...] = (1, 2)
    topics: dict[str, SourceTopic] = field(factory=dict)
    versions: dict[int, int] = field(factory=VERSIONS.copy)
    asked: list[tuple[int, int, Any]] = field(factory=list)
    answers: dict[int, Callable[[int, Any], Message | None]] = field(factory=dict)
    _waiting: list[Deferred[None]] = field(factory=list)

    @staticmethod
    def host(node_id: int) -> str:
        """Return the name of a broker's machine."""
        return f"source{node_id}"

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers."""
        return ",".join(f"{self.host(one)}:{PORT}" for one in self.node_ids)

    def add_topic(
        self, name: str = "t", partitions: int = 1, topic_id: uuid.UUID | None = None
    ) -> SourceTopic:
        """Make a topic; its partitions are led by the first broker."""
        logs = [SourceLog(self.node_ids[0]) for _ in range(partitions)]
        topic = self.topics[name] = SourceTopic(topic_id or uuid.uuid5(NULL_UUID, name), logs)
        return topic

    def requests(self, key: int) -> list[Any]:
        """Return the requests of one kind that have come."""
        return [request for node, one, request in self.asked if one == key]

    def wake(self) -> None:
        """Answer the fetches that wait."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.called:
                each.callback(None)

    # --- requests

    def broker(self, node_id: int) -> SourceBroker:
        """Return what answers the requests to one broker."""
        return SourceBroker(self, node_id)

    def answer(self, node_id: int, key: int, request: Any) -> Message | Deferred[Message]:
        """Return the response to a request, a Deferred for a fetch without news."""
        self.asked.append((node_id, key, request))
        override = self.answers.get(key)
        told = None if override is None else override(node_id, request)
        if told is not None:
            return told
        if key == API_VERSIONS:
            least = {FETCH: 4}
            keys = [ApiVersion(one, least.get(one, 0), most) for one, most in self.versions.items()]
            return ApiVersionsResponse(0, keys)
        if key == METADATA:
            return self._metadata(request)
        if key == LIST_OFFSETS:
            return self._offsets(node_id, request)
        if key == EPOCHS:
            return self._epochs(node_id, request)
        response, has_news = self._fetched(node_id, request)
        if has_news or not request.max_wait_ms:
            return response
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        wait_s = min(request.max_wait_ms / 1000, MOST_WAIT_S)

        def wake() -> None:
            if not waiting.called:
                waiting.callback(None)

        timer = self.clock.callLater(wait_s, wake)

        def answer(_: None) -> Message:
            if timer.active():
                timer.cancel()
            return self._fetched(node_id, request)[0]

        return waiting.addCallback(answer)

    def _metadata(self, request: Any) -> Message:
        brokers = [metadata.MetadataResponseBroker(one, self.host(one), PORT) for one in self.node_ids]
        names = [*self.topics] if request.topics is None else [topic.name for topic in request.topics]
        return metadata.MetadataResponse(0, brokers, "source", self.node_ids[0], [*map(self._topic, names)])

    def _topic(self, name: str) -> metadata.MetadataResponseTopic:
        topic = self.topics.get(name)
        if topic is None:
            return metadata.MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        partitions = [
            metadata.MetadataResponsePartition(
                0, number, log.leader, log.leader_epoch, [*self.node_ids], [*self.node_ids]
            )
            for number, log in enumerate(topic.logs)
        ]
        return metadata.MetadataResponseTopic(0, name, topic.topic_id, False, partitions)

    def _log(
        self, node_id: int, name: str, number: int, leader_epoch: int
    ) -> tuple[SourceLog | None, ErrorCode]:
        """Return the log if a broker leads it in the epoch that a client knows, or the error."""
        topic = self.topics.get(name)
        if topic is None or number >= len(topic.logs):
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        log = topic.logs[number]
        if log.leader != node_id:
            return None, NOT_LEADER
        if leader_epoch not in (-1, log.leader_epoch):
            older = leader_epoch < log.leader_epoch
            return None, ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
        return log, ErrorCode.NONE

    def _offsets(self, node_id: int, request: Any) -> Message:
        topics = []
        for topic in request.topics:
            parts = []
            for part in topic.partitions:
                log, code = self._log(node_id, topic.name, part.partition_index, part.current_leader_epoch)
                offset = -1
                if log is not None:
                    offset = log.start if part.timestamp == -2 else log.high_watermark
                parts.append(
                    list_offsets.ListOffsetsPartitionResponse(part.partition_index, code, offset=offset)
                )
            topics.append(list_offsets.ListOffsetsTopicResponse(topic.name, parts))
        return list_offsets.ListOffsetsResponse(0, topics)

    def _epochs(self, node_id: int, request: Any) -> Message:
        topics = []
        for topic in request.topics:
            parts = []
            for part in topic.partitions:
                log, code = self._log(node_id, topic.topic, part.partition, part.current_leader_epoch)
                epoch, end = (-1, -1) if log is None else log.end_of_epoch(part.leader_epoch)
                parts.append(offset_for_leader_epoch.EpochEndOffset(code, part.partition, epoch, end))
            topics.append(offset_for_leader_epoch.OffsetForLeaderTopicResult(topic.topic, parts))
        return offset_for_leader_epoch.OffsetForLeaderEpochResponse(0, topics)

    def _fetched(self, node_id: int, request: Any) -> tuple[Message, bool]:
        """Return the response to a fetch, and True if it has records or errors."""
        names = {topic.topic_id: name for name, topic in self.topics.items()}
        topics, has_news, room = [], False, request.max_bytes
        for topic in request.topics:
            name = topic.topic or names.get(topic.topic_id, "")
            parts = []
            for part in topic.partitions:
                answer = self._read(node_id, name, part, room)
                if not name:
                    answer.error_code = ErrorCode.UNKNOWN_TOPIC_ID
                room -= len(answer.records or b"")
                has_news |= bool(answer.records or answer.error_code)
                parts.append(answer)
            topics.append(fetch.FetchableTopicResponse(topic.topic, topic.topic_id, parts))
        return fetch.FetchResponse(0, 0, 0, topics), has_news

    def _read(self, node_id: int, name: str, part: Any, room: int) -> fetch.PartitionData:
        log, code = self._log(node_id, name, part.partition, part.current_leader_epoch)
        if log is None:
            return fetch.PartitionData(part.partition, code, -1)
        if not log.start <= part.fetch_offset <= log.end:
            return fetch.PartitionData(part.partition, OUT_OF_RANGE, -1)
        records = log.read(part.fetch_offset, min(room, part.partition_max_bytes)) if room > 0 else b""
        return fetch.PartitionData(
            part.partition, 0, log.high_watermark, log.high_watermark, log.start, records=records
        )


class SourceBroker:
    """The requests to one broker of a source (``kafkatx.net.requests.Requests``)."""

    ordered: tuple[bytes, ...] = ()

    def __init__(self, source: FakeSource, node_id: int) -> None:
        self._source = source
        self._node_id = node_id

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer a request."""
        header, at = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        request = codec.decode(APIS[key].request, version, frame[at:])

        def encoded(response: Message) -> Reply:
            data = encode_response_header(key, version, header.correlation_id)
            data += codec.encode(response, version)
            return [len(data).to_bytes(4, "big") + data]

        response = self._source.answer(self._node_id, key, request)
        if isinstance(response, Deferred):
            return response.addCallback(encoded)
        return encoded(response)

    def write_staged(self) -> dict[object, OSError]:
        """Write nothing."""
        return {}

    def wake_waiting(self) -> None:
        """Wake nothing."""
