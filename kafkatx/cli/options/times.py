"""Times and durations on the command line, in ISO 8601's forms."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_DURATION = re.compile(
    r"P(?=.)(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?", re.ASCII
)
_SECONDS = (86_400, 3600, 60, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class BadTime(ValueError):
    """The text is not a time or duration; the message has an example."""


def parse_time(text: str) -> int:
    """Return the milliseconds since the epoch of ``2026-11-21T10:00:00.000+01:00``.

    The time of day, its seconds and their fraction may be left out. Without ``Z`` or an offset it is UTC, as
    for Apache Kafka's own tools.

    :raises BadTime: the text has another form.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadTime(f"{text!r}: give a time as 2026-11-21T10:00:00Z or 2026-11-21T10:00:00+01:00")
    day, minute, second, fraction, zone = match.groups()
    offset = "+00:00" if zone in (None, "Z") else f"{zone[:3]}:{zone[3:].lstrip(':') or '00'}"
    try:
        time = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{offset}")
    except ValueError as error:
        raise BadTime(f"{text!r}: {error}") from error
    return round((time - _EPOCH).total_seconds()) * 1000 + int((fraction or "").ljust(3, "0")[:3])


def parse_duration(text: str) -> int:
    """Return the milliseconds of ``P1DT2H30M10.5S``: days, hours, minutes, seconds.

    :raises BadTime: the text has another form.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise BadTime(f"{text!r}: give a duration as P1D (a day), PT2H30M or PT90S")
    seconds = sum(float(n or 0) * unit for n, unit in zip(match.groups(), _SECONDS, strict=True))
    return round(seconds * 1000)
