"""What the blocking client raises besides the errors that every floor shares."""

from __future__ import annotations

from kafkatx.errors import ErrorCode, KafkaTXError, RequestError


class ConnectionFailed(KafkaTXError):
    """A broker cannot be reached, closed the connection, kept silent, or does not speak Kafka's protocol.

    The message names host and port and says what to do.
    """


class ProduceFailed(RequestError):
    """A batch was refused, or could not be delivered in time; it is not in the log as far as is known."""

    def __init__(self, code: ErrorCode, topic: str, partition: int, message: str = "") -> None:
        super().__init__(code, f"{topic} [{partition}]: {message or describe(code)}")
        self.topic = topic
        self.partition = partition


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


class UnknownTopic(RequestError):
    """The cluster does not have the topic, and was not asked to create it: trying again will not help."""

    def __init__(self, topic: str, advice: str = ": create it with `kafkatx topics create NAME`") -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}{advice}")
        self.topic = topic


def describe(code: ErrorCode) -> str:
    """A code in words, for messages where the broker sent none: ``message too large``."""
    return code.name.lower().replace("_", " ")


def retriable(error: BaseException) -> bool:
    """Whether the same call may succeed later, perhaps at another broker."""
    if isinstance(error, (ProduceFailed, UnknownTopic)):
        return False
    return isinstance(error, ConnectionFailed) or (isinstance(error, RequestError) and error.code.retriable)


def check(error_code: int, subject: str, message: str | None = None) -> None:
    """Raise the :class:`RequestError` of a reply's error code; 0 passes.

    :param subject: what the request was about (``topic 'x'``), for the error's message.
    """
    if error_code:
        code = ErrorCode.of(error_code)
        raise RequestError(code, f"{subject}: {message or describe(code)}")
