"""The reply to a produce request for one partition, as most are: made by the encoder once, and then copied.

A producer of single messages gets a reply for each of them, and all are alike but for the correlation id and
the base offset. To make the objects of a response and to encode them takes six times as long as to put two
numbers into bytes that are there.
"""

from __future__ import annotations

from struct import Struct

from kafkatx.wire import codec
from kafkatx.wire.headers import encode_response_header
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

_GAP = b"\1\2\3\4\5\6\7\x08"
"""An offset that is found again in the bytes of a reply: no name has such characters, zeros precede it."""


class ProduceReply:
    """Replies of one version for one partition, while its log starts where it does::

        size i32 | correlation_id i32 | what the encoder makes | base_offset i64 | what the encoder makes

    :ivar log_start_offset: the one that is told.
    """

    __slots__ = ("_after", "_before", "_pack", "_size", "log_start_offset")

    def __init__(
        self,
        api_key: int,
        version: int,
        topic: str,
        index: int,
        log_start_offset: int,
    ) -> None:
        offset = int.from_bytes(_GAP, "big")
        result = PartitionProduceResponse(index, 0, offset, -1, log_start_offset)
        body = codec.encode(ProduceResponse([TopicProduceResponse(topic, [result])]), version)
        before, _, self._after = body.partition(_GAP)
        self._before = encode_response_header(api_key, version, 0)[4:] + before
        self._size = 4 + len(self._before) + len(_GAP) + len(self._after)
        self._pack = Struct(f">ii{len(self._before)}sq{len(self._after)}s").pack
        self.log_start_offset = log_start_offset

    def frame(self, correlation_id: int, base_offset: int) -> bytes:
        """A whole reply: the records were stored, the first of them at *base_offset*."""
        return self._pack(self._size, correlation_id, self._before, base_offset, self._after)
