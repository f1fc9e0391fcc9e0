"""What a client raises besides the errors that every floor shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError, UnsupportedCompression

START_OR_NAME_A_BROKER = "start one with `kafkatx up`, or name another with -b HOST:PORT"
"""The advice to users of the command line when no broker answers."""


class ConnectionFailed(KafkaTXError):
    """A broker cannot be reached, closed the connection, kept silent, or does not speak Kafka's protocol.

    The message names host and port and says what to do.
    """


class ClosedByPeer(ConnectionFailed):
    """The broker closed the connection, with or without a reset."""


class RequestTimedOut(ConnectionFailed):
    """No reply came in time; the request may have been carried out nevertheless."""


class ClientClosed(KafkaTXError):
    """The client was closed before this was done, or is used after it was closed."""


class ForkedClient(KafkaTXError):
    """A client is used in a fork of the process that made it."""

    def __init__(self, made_in: int, used_in: int) -> None:
        super().__init__(
            f"this client was made in process {made_in} and is used in {used_in}, a fork, which has none of"
            " its connections: make a client after the fork"
        )


class BufferExhausted(KafkaTXError):
    """A producer had no room (``buffer.memory``) within ``max.block.ms``: more comes than leaves."""


class ProduceFailed(RequestError):
    """A batch was refused, or could not be delivered in time; it is not in the log as far as is known."""

    def __init__(self, code: ErrorCode, topic: str, partition: int, message: str = "") -> None:
        super().__init__(code, f"{topic} [{partition}]: {message or describe(code)}")
        self.topic = topic
        self.partition = partition


class RecordsLost(KafkaTXError):
    """Records that ``produce`` was given, without a callback, are not in the log as far as is known.

    :ivar count: how many since the last flush.
    :ivar first: why the first of them is not; also the ``__cause__``.
    """

    def __init__(self, count: int, first: BaseException) -> None:
        super().__init__(
            f"{count} records that were sent with produce() are not in the log; the first error: {first}"
        )
        self.count = count
        self.first = first
        self.__cause__ = first


class OffsetOutOfRange(RequestError):
    """A reader asked for an offset that the log no longer has, or does not have yet.

    ``earliest`` and ``latest`` are what the log has (latest is exclusive); -1 if the broker did not say.
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
    """What was read last is not in the log of the partition's new leader (KIP-320).

    ``auto.offset.reset`` is none, so the application has to seek. ``offset`` is where it was, ``latest``
    where the logs part, as far as is known: from there on it has read what there is no more. -1: not known.
    """

    def __init__(self, topic: str, partition: int, offset: int, latest: int) -> None:
        super().__init__(topic, partition, offset, -1, latest)
        where = f"at {latest}" if latest >= 0 else "at an offset that is not known"
        words = f"{topic} [{partition}]: the log of the new leader has not all that was read up to {offset}"
        self.args = (f"{words}: they part {where}",)


class NoOffset(KafkaTXError):
    """A partition has no committed offset, and ``auto.offset.reset=none`` says that this is an error."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(
            f"{topic} [{partition}] has no committed offset, and auto.offset.reset is none: seek to one"
        )
        self.topic = topic
        self.partition = partition


class Undecodable(KafkaTXError):
    """A key or value is not what ``key.deserializer`` or ``value.deserializer`` reads; seek past it to go on.

    :ivar records: those of its batch that stand before it.
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
    """A batch of a reply that no record can be read from; ``seek(partition, next_offset)`` goes on behind it.

    It is a :class:`CorruptBatch` or an :class:`UnsupportedBatch`.

    :ivar topic: where it is; *partition* likewise.
    :ivar offset: the first offset that was wanted of it.
    :ivar next_offset: the offset behind it, as far as can be told: its header may be what is damaged.
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
            f" seek to {self.next_offset} to go on behind it",
        )


class CorruptBatch(CorruptRecords, UnreadableBatch):
    """A checksum, a length or the records of a batch are wrong."""

    def __init__(self, topic: str, partition: int, offset: int, next_offset: int, why: str) -> None:
        super().__init__(why)
        self._locate(topic, partition, offset, next_offset, why)


class UnsupportedBatch(UnsupportedCompression, UnreadableBatch):
    """A batch is compressed by a codec that is unknown or not installed."""

    def __init__(self, topic: str, partition: int, offset: int, next_offset: int, why: str) -> None:
        super().__init__(why)
        self._locate(topic, partition, offset, next_offset, why)


class UnknownTopic(RequestError):
    """The cluster does not have the topic, and was not asked to create it: trying again will not help."""

    def __init__(self, topic: str, advice: str = ": create it with `kafkatx topics create NAME`") -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}{advice}")
        self.topic = topic


class CommitFailed(RequestError):
    """Offsets were not committed, for the group has given the partitions to others since they were read."""


class NotAssigned(KafkaTXError):
    """A partition was named that the consumer does not have, or no longer."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(f"{topic} [{partition}] is not assigned to this consumer")
        self.topic = topic
        self.partition = partition


def describe(code: ErrorCode) -> str:
    """A code in words, for messages where the broker sent none: ``message too large``."""
    return code.name.lower().replace("_", " ")


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
    """Whether the same call may succeed later, perhaps at another broker."""
    if isinstance(error, (ProduceFailed, UnknownTopic, CommitFailed)):
        return False
    if isinstance(error, (ConnectionFailed, BufferExhausted)):
        return True
    return isinstance(error, RequestError) and error.code.retriable


def fatal(error: BaseException) -> bool:
    """Whether the client is of no use any more: another must take its place, or a person must help."""
    return isinstance(error, ClientClosed) or (isinstance(error, RequestError) and error.code in _FATAL)


def check(error_code: int, subject: str, message: str | None = None) -> None:
    """Raise the :class:`RequestError` of a reply's error code; 0 passes.

    :param subject: what the request was about (``topic 'x'``), for the error's message.
    """
    if error_code:
        code = ErrorCode.of(error_code)
        raise RequestError(code, f"{subject}: {message or describe(code)}")
