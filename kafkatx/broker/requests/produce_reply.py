"""The reply to a produce request for one partition: encoded once, and then copied. Pure.

A producer of single messages gets a reply for each of them, and these differ only in the correlation id and
the base offset. Making the objects of a response and encoding them takes six times as long as putting two
numbers into existing bytes.
"""

from __future__ import annotations

from struct import Struct

from kafkatx.wire import codec
from kafkatx.wire.headers import encode_response_header
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

_GAP = b"\1\2\3\4\5\6\7\x08"
"""An offset whose bytes are unique in a reply: no name has such characters, and zeros precede it."""


class ProduceReply:
    """Replies of one version for one partition, valid for one log start offset::

        size i32 | correlation_id i32 | encoded response | base_offset i64 | encoded response

    :ivar log_start_offset: the log start offset in the replies.
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
        """Return a whole reply: the records were stored, the first of them at *base_offset*."""
        return self._pack(self._size, correlation_id, self._before, base_offset, self._after)
