"""The exceptions of clients, besides those of :mod:`kafkatx.errors`; and which of them are retriable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError, UnsupportedCompression
from kafkatx.names import counted, verb

START_OR_NAME_A_BROKER = "start one with `kafkatx up`, or name another with -b HOST:PORT"
"""The advice to users of the command line when no broker answers."""


class ConnectionFailed(KafkaTXError):
    """A broker cannot be reached, closed the connection, did not answer, or does not speak Kafka's protocol.

    The message names host and port and says what to do.
    """


class ClosedByPeer(ConnectionFailed):
    """The broker closed the connection, with or without a reset."""


class RequestTimedOut(ConnectionFailed):
    """No reply came in time; the broker may have acted on the request nevertheless."""


class AuthenticationFailed(RequestError):
    """A broker does not accept the login; the same one will not be accepted later either.

    The message says by which mechanism, and what to check; it has no secret in it.
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(code, message)


class NotStarted(KafkaTXError):
    """A client is used before it was started."""

    def __init__(self, client: str = "client") -> None:
        super().__init__(
            f"the {client} is not started: call its start() first, or use it in a with statement"
            " (async with for asyncio)"
        )


class ClientClosed(KafkaTXError):
    """The client was closed before the call was done, or is used after it was closed."""


class ForkedClient(KafkaTXError):
    """A client is used in a fork of the process that made it."""

    def __init__(self, made_in: int, used_in: int) -> None:
        super().__init__(
            f"this client was made in process {made_in} and is used in {used_in}, a fork, which has none of"
            " its connections: make a client after the fork"
        )


class BufferExhausted(KafkaTXError):
    """``buffer.memory`` was used up for ``max.block.ms``: records come faster than they are sent."""


class ProduceFailed(RequestError):
    """A batch was refused, or not delivered in time; as far as is known it is not in the log."""

    def __init__(self, code: ErrorCode, topic: str, partition: int, message: str = "") -> None:
        super().__init__(code, f"{topic} [{partition}]: {message or describe(code)}")
        self.topic = topic
        self.partition = partition


class RecordsLost(KafkaTXError):
    """Records of ``produce`` without a callback have failed; as far as is known they are not in the log.

    :ivar count: the number of such records since the last flush.
    :ivar first: the error of the first of them; also the ``__cause__``.
    """

    def __init__(self, count: int, first: BaseException) -> None:
        super().__init__(
            f"{counted(count, 'record')} sent with produce() {verb(count, 'is', 'are')} not in the log;"
            f" the first error: {first}"
        )
        self.count = count
        self.first = first
        self.__cause__ = first


class OffsetOutOfRange(RequestError):
    """A fetch for an offset that the log no longer has, or does not have yet.

    ``earliest`` is the log start offset, ``latest`` the log end offset (exclusive); -1 if not known.
    """

    def __init__(self, topic: str, partition: int, offset: int, earliest: int, latest: int) -> None:
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{topic} [{partition}] has no offset {offset}: the earliest is {earliest}, the latest {latest}",
        )
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.earliest = earliest
        self.latest = latest


class LogTruncation(OffsetOutOfRange):
    """The new leader of a partition does not have all records that the consumer has read (KIP-320).

    ``auto.offset.reset`` is none, so the application has to seek. ``offset`` is the consumer's position,
    ``latest`` the offset at which the logs diverge (-1: not known); later records that it has read do not
    exist any more.
    """

    def __init__(self, topic: str, partition: int, offset: int, latest: int) -> None:
        super().__init__(topic, partition, offset, -1, latest)
        where = f"at {latest}" if latest >= 0 else "at an unknown offset"
        self.args = (
            f"{topic} [{partition}]: the new leader does not have all records that were read up to {offset}:"
            f" the logs diverge {where}",
        )


class NoOffset(KafkaTXError):
    """A partition has no committed offset, and ``auto.offset.reset`` is none."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(
            f"{topic} [{partition}] has no committed offset, and auto.offset.reset is none: seek to an offset"
        )
        self.topic = topic
        self.partition = partition


class Undecodable(KafkaTXError):
    """``key.deserializer`` or ``value.deserializer`` cannot decode a record; seek past it to continue.

    :ivar records: the records of its batch that precede it.
    """

    def __init__(
        self, topic: str, partition: int, offset: int, why: str, records: Sequence[Any] = ()
    ) -> None:
        super().__init__(f"{topic} [{partition}] offset {offset}: the record cannot be decoded: {why}")
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.records = records


class UnreadableBatch(RequestError):
    """A fetched batch cannot be read; ``seek(partition, next_offset)`` continues after it.

    It is a :class:`CorruptBatch` or an :class:`UnsupportedBatch`.

    :ivar offset: the first offset in the batch that was to be read.
    :ivar next_offset: the offset after the batch, as far as is known: its header may be damaged.
    """

    topic: str
    partition: int
    offset: int
    next_offset: int

    def _locate(self, topic: str, partition: int, offset: int, next_offset: int, why: str) -> None:
        self.topic, self.partition = topic, partition
        self.offset, self.next_offset = offset, max(next_offset, offset + 1)
        self.args = (
            f"{topic} [{partition}] offset {offset}: the batch cannot be read: {why};"
            f" seek to {self.next_offset} to continue after it",
        )


class CorruptBatch(CorruptRecords, UnreadableBatch):
    """A checksum, a length or the records of a batch are wrong."""

    def __init__(self, topic: str, partition: int, offset: int, next_offset: int, why: str) -> None:
        super().__init__(why)
        self._locate(topic, partition, offset, next_offset, why)


class UnsupportedBatch(UnsupportedCompression, UnreadableBatch):
    """A batch is compressed with a codec that is unknown or not installed."""

    def __init__(self, topic: str, partition: int, offset: int, next_offset: int, why: str) -> None:
        super().__init__(why)
        self._locate(topic, partition, offset, next_offset, why)


class UnknownTopic(RequestError):
    """The topic does not exist and is not created automatically; a retry will not help."""

    def __init__(self, topic: str, advice: str = ": create it with `kafkatx topics create NAME`") -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}{advice}")
        self.topic = topic


class CommitFailed(RequestError):
    """Offsets were not committed, because the partitions were assigned to other members meanwhile."""


class NotAssigned(KafkaTXError):
    """A method was called for a partition that is not, or no longer, assigned to the consumer."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(f"{topic} [{partition}] is not assigned to this consumer")
        self.topic = topic
        self.partition = partition


def describe(code: ErrorCode) -> str:
    """Return a code in words, for example ``message too large``, for replies without a message."""
    return _IN_WORDS.get(code) or code.name.lower().replace("_", " ")


_IN_WORDS = {
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "the name is not allowed, or differs from another topic's in dots and underscores alone"
    ),
}
"""Meanings of codes whose names do not say them; replies of Metadata have no message beside the code."""


_FATAL = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.ILLEGAL_SASL_STATE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)


def retriable(error: BaseException) -> bool:
    """Return True if the same call may succeed later, perhaps at another broker."""
    if isinstance(error, (ProduceFailed, UnknownTopic, CommitFailed)):
        return False
    if isinstance(error, (ConnectionFailed, BufferExhausted)):
        return True
    return isinstance(error, RequestError) and error.code.retriable


def fatal(error: BaseException) -> bool:
    """Return True if no later call of the client can succeed: it has to be replaced, or reconfigured."""
    return isinstance(error, ClientClosed) or (isinstance(error, RequestError) and error.code in _FATAL)


def check(error_code: int, subject: str, message: str | None = None) -> None:
    """Raise the :class:`RequestError` of a reply's error code, unless it is 0.

    :param subject: the subject of the request (``topic 'x'``), for the error's message.
    """
    if error_code:
        code = ErrorCode.of(error_code)
        raise RequestError(code, f"{subject}: {message or describe(code)}")
