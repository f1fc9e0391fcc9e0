r"""Lines of a web server's access log: the common and the combined format of Apache and nginx.

::

    83.149.9.216 - frank [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 2326 "http://b/" "Mozilla/5.0"
    client identity user time                          request          status bytes referrer agent

``-`` is null. Escapes (Apache's ``\"`` and ``\x16``) are kept as written, and bytes that are not UTF-8
become such escapes. Fields after the agent are ignored. Pure: no I/O.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from zope.interface import implementer

from kafkatx.interfaces import IRowDecoder

_INNER = r'([^"\\]*(?:\\.[^"\\]*)*)'
_LINE = re.compile(
    # A user may have spaces; but "- " and more text are the first fields of a format with the virtual host.
    r"(\S+) (\S+) (?!- [^\[])(.+?) "
    r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    rf'"{_INNER}" (\d{{3}}|-) (\d{{1,18}}|-)'
    # An agent that the server has truncated has no closing quote.
    rf'(?: "{_INNER}" "{_INNER}(?:"(?: .*)?)?)?\s*',
    re.ASCII | re.DOTALL,
)
_METHOD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class AccessLine(NamedTuple):
    """One request as the server logged it."""

    client: str
    identity: str | None
    user: str | None
    time: datetime
    """In UTC."""
    method: str | None
    path: str | None
    """The whole request if it is not HTTP."""
    protocol: str | None
    status: int | None
    bytes: int | None
    """Size of the response body; null if nothing was sent."""
    referrer: str | None
    agent: str | None


@implementer(IRowDecoder)
class AccessLogDecoder:
    """Decodes a line into an :class:`AccessLine`."""

    columns = (
        ("client", "string"),
        ("identity", "string"),
        ("user", "string"),
        ("time", "timestamp"),
        ("method", "string"),
        ("path", "string"),
        ("protocol", "string"),
        ("status", "int"),
        ("bytes", "bigint"),
        ("referrer", "string"),
        ("agent", "string"),
    )
    time_column = "time"

    def decode(self, topic: str, data: bytes | None) -> AccessLine | None:
        """Return the fields of a line.

        :raises ValueError: it is not a line of an access log.
        """
        if data is None:
            return None
        found = _LINE.fullmatch(str(data, "utf-8", "backslashreplace"))
        if found is None:
            raise ValueError("not a line of the common or combined log format")
        client, identity, user, time, request, status, size, referrer, agent = found.groups()
        return AccessLine(
            client,
            None if identity == "-" else identity,
            None if user == "-" else user,
            parse_time(time),
            *_split_request(request),
            None if status == "-" else int(status),
            None if size == "-" else int(size),
            None if referrer == "-" else referrer,
            None if agent == "-" else agent,
        )


@lru_cache(maxsize=1024)
def parse_time(text: str) -> datetime:
    """Parse a time like ``17/May/2015:10:05:03 +0200``, in UTC.

    Results are cached, as neighbouring lines often have the same time.

    :raises ValueError: the month, day or time is invalid.
    """
    day, month, year = int(text[:2]), _MONTHS.index(text[3:6]) + 1, int(text[7:11])
    local = datetime(
        year, month, day, int(text[12:14]), int(text[15:17]), int(text[18:20]), tzinfo=timezone.utc
    )
    ahead = timedelta(hours=int(text[22:24]), minutes=int(text[24:26]))
    try:
        return local - ahead if text[21] == "+" else local + ahead
    except OverflowError as error:
        raise ValueError(f"{text}: {error}") from None


def _split_request(request: str) -> tuple[str | None, str | None, str | None]:
    """Return method, path and protocol; a path may have spaces, and HTTP/0.9 has no protocol."""
    if request in ("-", ""):
        return None, None, None
    method, space, rest = request.partition(" ")
    if not space or _METHOD.fullmatch(method) is None:
        return None, request, None
    path, space, protocol = rest.rpartition(" ")
    if space and protocol.startswith("HTTP/"):
        return method, path, protocol
    return method, rest, None
