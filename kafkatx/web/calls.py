"""Requests and answers of HTTP as applications see them. Pure."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias
from urllib.parse import parse_qs, unquote_to_bytes

import attrs

from kafkatx.errors import KafkaTXError
from kafkatx.net.admission.limits import network_of
from kafkatx.net.requests import NOBODY, Session

JSON = "application/json"


class WebError(KafkaTXError):
    """A request that is refused.

    :ivar status: the status of the response.
    :ivar code: a finer code for the body, which is JSON: ``{"error_code": ..., "message": ...}``.
    :ivar headers: further headers of the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: int | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = status if code is None else code
        self.headers = headers


OF_BROKER = Session("", "")
"""The session of a request that a broker makes itself: this object, not one that is equal."""


@attrs.frozen
class Call:
    """One request.

    :ivar method: GET for HEAD, too: the server leaves out the body.
    :ivar target: path and query as they were sent.
    :ivar path: the decoded segments of the path; ``/a%2Fb/c`` has two, a final ``/`` adds none.
    :ivar headers: by name in lower case.
    :ivar session: the principal of the client, and the listener.
    :ivar client: the client's address.
    """

    method: str
    target: str
    path: tuple[str, ...]
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    session: Session = NOBODY
    client: str = ""

    @property
    def share(self) -> str:
        """The fair share that the request is part of: that of its principal, or of its address."""
        principal = self.session.principal
        return network_of(self.client) if principal == NOBODY.principal else principal

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Return True if a query parameter is ``true``, in any case of letters."""
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Return a query parameter that is a number.

        :raises WebError: it is none.
        """
        text = self.text(name, str(default))
        digits = text[1:] if text.startswith("-") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
            raise WebError(404, f"{name}={text[:40]}: not a number")
        return int(text)

    def json(self) -> object:
        """Return the body.

        :raises WebError: it is not JSON, or the request does not say that it is.
        """
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if "json" not in kind and kind != "application/octet-stream":
            # a page of another site can send forms and plain text to 127.0.0.1, but not these types
            raise WebError(415, "HTTP 415 Unsupported Media Type: send Content-Type: application/json")
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise WebError(400, f"the body is not JSON: {error}") from None


class Response(Protocol):
    """A response that is being sent, as Twisted Web has it."""

    def write(self, data: bytes, /) -> None:
        """Send a part of the body."""

    def finish(self) -> None:
        """End the response."""

    def loseConnection(self) -> None:
        """Close the connection when everything is sent."""

    def abort(self) -> None:
        """Close the connection at once."""

    def registerProducer(self, producer: object, streaming: bool, /) -> None:
        """Tell a producer when to pause."""

    def unregisterProducer(self) -> None:
        """End that."""


class Stream(Protocol):
    """A body that is sent as it comes."""

    def start(self, response: Response) -> None:
        """Begin to send; status and headers are set."""

    def gone(self) -> None:
        """Take note that the client has gone, before the start or after it."""


Body: TypeAlias = "bytes | Iterator[bytes]"


@attrs.frozen
class Answer:
    """One response.

    :ivar body: all of it, or its pieces, which are made while the client takes them.
    :ivar stream: a body that goes on, in place of *body*.
    """

    status: int
    body: Body = b""
    content_type: str = JSON
    headers: Mapping[str, str] = MappingProxyType({})
    stream: Stream | None = None


Outcome: TypeAlias = "Answer | Awaitable[Answer]"

Application: TypeAlias = Callable[[Call], Outcome]
"""Answers a request; may raise :class:`WebError`."""


def read_target(target: bytes) -> tuple[tuple[str, ...], Mapping[str, Sequence[str]]]:
    """Split a target into the segments of its path and its query.

    :raises WebError: it is not UTF-8, or has too many parameters.
    """
    path, _, query = target.partition(b"?")
    try:
        segments = tuple(unquote_to_bytes(one).decode("utf-8") for one in path.split(b"/")[1:])
        pairs = parse_qs(query.decode("ascii"), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise WebError(400, f"the request's target cannot be read: {error}") from None
    if segments and not segments[-1]:
        segments = segments[:-1]
    return segments, pairs


def as_json(value: object) -> bytes:
    """Encode a body."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def error_answer(error: WebError, content_type: str = JSON) -> Answer:
    """Return the response for a refused request."""
    body = as_json({"error_code": error.code, "message": str(error)})
    return Answer(error.status, body, content_type, error.headers)
