"""One value into a column of a simple type: only what loses nothing is taken.

=============  ============================================================================================
column         takes
=============  ============================================================================================
boolean        true and false
int, bigint    whole numbers that fit, also written as 2.0
float, double  numbers, the nearest one of the type; whole ones only if it has exactly that number
string         text; bytes in UTF-8; numbers, objects and lists as their JSON, with all digits of numbers in
               JSON; else what str() gives
binary         bytes; text as base64
timestamp      a datetime (UTC if it has no zone); text as ISO 8601, cut to microseconds; a whole number as
               ms since 1970
date           a date; text as 2015-05-19
=============  ============================================================================================

null is taken everywhere.
"""

from __future__ import annotations

import base64
import json
import re
import reprlib
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from typing import Any

from kafkatx.schemas.json_numbers import LongNumber

EXCERPT = 60
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = EXCERPT
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)? ?(?:([Zz])|([+-]\d\d):?(\d\d)?)?",
    re.ASCII,
)


class Misfit(ValueError):
    """A value does not fit its column; the message is a dead letter's reason."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._what = what
        self._path = ""

    def within(self, name: str) -> Misfit:
        """Return the same error, in a field of this name."""
        self._path = f"{name}.{self._path}" if self._path else name
        return self

    def __str__(self) -> str:
        return f"field {self._path}: {self._what}" if self._path else self._what


def excerpt(value: object) -> str:
    """Shorten a value for a reason: one line, and short whatever it is."""
    if isinstance(value, (str, bytes)):
        return repr(value[:EXCERPT]) + ("..." if len(value) > EXCERPT else "")
    try:
        return _SHORT.repr(value)[: 2 * EXCERPT]
    except Exception:  # an object of a plug-in
        return f"a {type(value).__name__}"


def fit_boolean(value: object) -> object:
    """Convert a value to a boolean.

    :raises Misfit: it is neither true nor false.
    """
    if isinstance(value, bool):
        return value
    raise Misfit(f"{excerpt(value)} is no boolean")


def _fit_whole(word: str, bits: int) -> Callable[[object], object]:
    limit = 1 << (bits - 1)

    def fit(value: object) -> object:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            exact = value.whole if isinstance(value, LongNumber) else value
            whole = None if exact is None or exact != exact or abs(exact) >= 2 * limit else int(exact)
            if whole is not None and whole == exact and -limit <= whole < limit:
                return whole
        raise Misfit(f"{excerpt(value)} is no {word}")

    return fit


def fit_double(value: object) -> object:
    """Convert a value to a double.

    :raises Misfit: it is no number, or one that a double would round.
    """
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 1023:
        number = float(value)
        if number == value:
            return number
    raise Misfit(f"{excerpt(value)} is no double")


def fit_float(value: object) -> object:
    """Convert a value to a float.

    :raises Misfit: it is no number, beyond a float's range, or a whole one that a float would round.
    """
    try:
        number = fit_double(value)
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except (Misfit, OverflowError):
        raise Misfit(f"{excerpt(value)} is no float") from None
    if isinstance(value, int) and rounded != value:
        raise Misfit(f"{excerpt(value)} is no float")
    return number


def fit_string(value: object) -> Any:
    """Convert a value to text.

    :raises Misfit: it has no text, or text that UTF-8 cannot encode.
    """
    text = value if isinstance(value, str) else json_text(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misfit(f"{excerpt(text)} is no Unicode text") from None
    return text


def json_text(value: object) -> str:
    """Return a value that is not text as its JSON. What JSON lacks is written as Python writes it; bytes as
    text if they are UTF-8.

    :raises Misfit: it has none.
    """
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return str(value, "utf-8")
        if isinstance(value, (bool, int, float, list, tuple, Mapping)):
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
            return _exact_json(value) if _has_long_number(value) else text
        return value.isoformat() if isinstance(value, (datetime, date)) else str(value)
    except Exception as error:  # an object of a plug-in, or one that is nested too deeply
        raise Misfit(f"{excerpt(value)} has no text: {error}") from None


def _has_long_number(value: object) -> bool:
    """Return True if a value that has JSON, and so has an end, has such numbers in it."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, LongNumber):
            return True
        if isinstance(part, (list, tuple)):
            waiting.extend(part)
        elif isinstance(part, Mapping):
            waiting.extend(part.values())
    return False


def _exact_json(value: object) -> str:
    """Return the JSON of a value with numbers that ``json`` would round."""
    if isinstance(value, LongNumber):
        return value.text
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_exact_json, value))}]"
    if isinstance(value, Mapping):
        entries = (f"{_exact_json(str(key))}:{_exact_json(item)}" for key, item in value.items())
        return f"{{{','.join(entries)}}}"
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, (datetime, date)) else str(value)


def fit_binary(value: object) -> object:
    """Convert a value to bytes.

    :raises Misfit: it is neither bytes nor base64.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            pass
    raise Misfit(f"{excerpt(value)} is no binary: bytes or base64")


def fit_timestamp(value: object) -> object:
    """Convert a value to a timestamp.

    :raises Misfit: it is no time between the years 1 and 9999.
    """
    try:
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
        if isinstance(value, str):
            return parse_time(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=value)
    except (ValueError, OverflowError):
        pass
    raise Misfit(f"{excerpt(value)} is no timestamp: ISO 8601, or ms since 1970")


def parse_time(text: str) -> datetime:
    """ISO 8601's usual form; UTC if it has no zone. What is below a microsecond is cut.

    :raises ValueError, OverflowError: it is something else.
    """
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError(text)
    day, minutes, seconds, fraction, zulu, hours, more = found.groups()
    zone = "+00:00" if zulu or not hours else f"{hours}:{more or '00'}"
    micros = (fraction or "")[:6].ljust(6, "0")
    moment = datetime.fromisoformat(f"{day}T{minutes or '00:00'}:{seconds or '00'}.{micros}{zone}")
    return moment.astimezone(timezone.utc)


def fit_date(value: object) -> object:
    """Convert a value to a date.

    :raises Misfit: it is no day.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise Misfit(f"{excerpt(value)} is no date: 2015-05-19")


FITTERS: dict[str, Callable[[object], Any]] = {
    "boolean": fit_boolean,
    "int": _fit_whole("int", 32),
    "bigint": _fit_whole("bigint", 64),
    "float": fit_float,
    "double": fit_double,
    "string": fit_string,
    "binary": fit_binary,
    "timestamp": fit_timestamp,
    "date": fit_date,
}
"""By type: from a value, not None, to what Arrow takes for it."""

NONE = type(None)
NATURAL: dict[str, frozenset[type]] = {
    "boolean": frozenset((bool, NONE)),
    "int": frozenset((int, NONE)),
    "bigint": frozenset((int, NONE)),
    "double": frozenset((float, int, NONE)),
    "string": frozenset((str, NONE)),
    "binary": frozenset((bytes, NONE)),
    "timestamp": frozenset((datetime, NONE)),
}
"""Python's types that Arrow itself takes for a column exactly as the fitters do, or refuses.

For other types it does not: 2.5 becomes 2 in a column of whole numbers.
"""
