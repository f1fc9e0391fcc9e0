"""Errors of the console's API: a status, and a code as Kafka names it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.registry.errors import RegistryError
from kafkatx.web.calls import Answer, WebError, as_json

_C = ErrorCode

STATUS: Mapping[ErrorCode, int] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *(_C.TOPIC_AUTHORIZATION_FAILED, _C.GROUP_AUTHORIZATION_FAILED),
                *(_C.CLUSTER_AUTHORIZATION_FAILED, _C.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            ),
            403,
        ),
        **dict.fromkeys(
            (
                _C.UNKNOWN_TOPIC_OR_PARTITION,
                _C.GROUP_ID_NOT_FOUND,
                _C.RESOURCE_NOT_FOUND,
                _C.UNKNOWN_TOPIC_ID,
            ),
            404,
        ),
        _C.TRANSACTIONAL_ID_NOT_FOUND: 404,
        _C.TOPIC_ALREADY_EXISTS: 409,
        _C.NON_EMPTY_GROUP: 409,
        _C.CONCURRENT_TRANSACTIONS: 409,
        _C.GROUP_SUBSCRIBED_TO_TOPIC: 409,
        _C.REQUEST_TIMED_OUT: 504,
        _C.UNKNOWN_SERVER_ERROR: 500,
        _C.KAFKA_STORAGE_ERROR: 500,
    }
)
"""The status of an error of Kafka; 503 for others that are retriable, and 400 for the rest."""


class ConsoleError(KafkaTXError):
    """A request of the console that is refused.

    :ivar status: the status of the response.
    :ivar code: a word, of Kafka's error codes where one fits.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def _status(code: ErrorCode) -> int:
    return STATUS.get(code, 503 if code.retriable else 400)


def of_code(code: int, message: str | None, subject: str) -> ConsoleError:
    """Return the error for an error code in a response.

    :param subject: what was to be done, and to what: it stands before the message.
    """
    known = ErrorCode.of(code)
    status = _status(known)
    why = message or known.name.replace("_", " ").lower()
    again = "; try again in a moment" if status == 503 else ""
    return ConsoleError(status, known.name, f"{subject}: {why}{again}")


def check_code(code: int, message: str | None, subject: str) -> None:
    """Check an error code in a response.

    :raises ConsoleError: it is another than NONE.
    """
    if code:
        raise of_code(code, message, subject)


def invalid(message: str) -> ConsoleError:
    """Return the error of a request that says something wrong."""
    return ConsoleError(400, "INVALID_REQUEST", message)


def found_error(error: KafkaTXError) -> ConsoleError:
    """Return an error as the API tells it."""
    if isinstance(error, ConsoleError):
        return error
    if isinstance(error, RequestError):
        return ConsoleError(_status(error.code), error.code.name, str(error))
    if isinstance(error, RegistryError):
        return ConsoleError(error.status, f"SCHEMA_REGISTRY_{error.code}", str(error))
    if isinstance(error, WebError):
        return ConsoleError(error.status, _WORDS.get(error.status, "INVALID_REQUEST"), str(error))
    return ConsoleError(503, "BROKER_NOT_AVAILABLE", f"another broker did not answer: {error}")


_WORDS = {
    401: "LOGIN_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    503: "TOO_MANY_REQUESTS",
}


def as_value(error: ConsoleError) -> dict[str, str]:
    """Return an error as a value of JSON."""
    return {"code": error.code, "message": str(error)}


def error_answer(error: ConsoleError) -> Answer:
    """Return the response of a refused request."""
    return Answer(error.status, as_json({"error": as_value(error)}))
