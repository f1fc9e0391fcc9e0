"""JSON objects in nodes: reading of keys with checks, and writing. Pure.

Types are checked as strictly as Kafka's decoders do: a number is no text, and true is no number.
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from kafkatx.errors import KafkaTXError
from kafkatx.names import printable

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
_LONGEST_QUOTATION = 120
_NUMBER_DIGITS = 10

T = TypeVar("T")


class _Required:
    """The default of a key that must be there."""


REQUIRED: Final = _Required()


class UnreadableNode(KafkaTXError):
    """A node has content that this version of kafkatx does not understand: foreign, newer or damaged.

    :ivar path: the node.
    :ivar found: its content, or the part of it that is wrong.
    :ivar supported: the content that kafkatx understands there.
    """

    def __init__(self, path: str, found: str, supported: str) -> None:
        super().__init__(
            f"node {printable(path)} cannot be read: found {found}; supported: {supported}. "
            "A newer or another program has written it, or it is damaged"
        )
        self.path = path
        self.found = found
        self.supported = supported


class Fields:
    """The keys of one JSON object of a node.

    Each method reads one key, and raises UnreadableNode if it has another type or, without a default, is
    missing. A key with the value null counts as missing.

    :ivar path: the node.
    :ivar members: the object.
    """

    __slots__ = ("_within", "members", "path")

    def __init__(self, path: str, members: Mapping[str, object], within: str = "") -> None:
        self.path = path
        self.members = members
        self._within = within

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def version(self, lowest: int, highest: int) -> int:
        """Read the key ``version``, which must be from *lowest* to *highest*."""
        version = self.integer("version")
        if not lowest <= version <= highest:
            supported = str(lowest) if lowest == highest else f"{lowest} to {highest}"
            raise UnreadableNode(self.path, f'"version":{version}', f"version {supported}")
        return version

    def integer(
        self, key: str, lowest: int = -1, highest: int = INT32_MAX, default: int | _Required = REQUIRED
    ) -> int:
        """Read a number without a fraction."""
        value = self.members.get(key)
        if value is None and not isinstance(default, _Required):
            return default
        if type(value) is not int or not lowest <= value <= highest:
            raise self.wrong(key, f"a number from {lowest} to {highest}")
        return value

    def number_text(self, key: str, default: int | _Required = REQUIRED) -> int:
        """Read a 64-bit number that is written as text, as Kafka writes times and producer ids."""
        value = self.members.get(key)
        if value is None and not isinstance(default, _Required):
            return default
        if isinstance(value, str) and (number := natural(value, INT64_MAX)) is not None:
            return number
        raise self.wrong(key, 'a number as text, such as "1000"')

    def flag(self, key: str) -> bool:
        """Read true or false."""
        value = self.members.get(key)
        if type(value) is not bool:
            raise self.wrong(key, "true or false")
        return value

    def text(self, key: str) -> str:
        """Read a text."""
        value = self.members.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def optional_text(self, key: str) -> str | None:
        """Read a text; None if there is none."""
        return None if self.members.get(key) is None else self.text(key)

    def topic_id(self, key: str) -> uuid.UUID | None:
        """Read an id in Kafka's form; None if there is none."""
        value = self.optional_text(key)
        if value is None:
            return None
        found = parse_id(value)
        if found is None:
            raise self.wrong(key, "a topic id: 22 characters of URL-safe base64")
        return found

    def integers(self, key: str) -> tuple[int, ...]:
        """Read a list of broker ids."""
        value = self.members.get(key)
        if not isinstance(value, list) or any(
            type(one) is not int or not 0 <= one <= INT32_MAX for one in value
        ):
            raise self.wrong(key, "a list of broker ids")
        return tuple(value)

    def texts(self, key: str, default: tuple[str, ...] | _Required = REQUIRED) -> tuple[str, ...]:
        """Read a list of texts."""
        value = self.members.get(key)
        if value is None and not isinstance(default, _Required):
            return default
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(key, "a list of texts")
        return tuple(value)

    def items(self, key: str) -> list[object]:
        """Read a list whose items the caller checks; an empty one if there is none."""
        value = self.members.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def text_map(self, key: str) -> dict[str, str]:
        """Read an object whose values are texts."""
        found = self.object(key)
        return {one: found.text(one) for one in found}

    def object(self, key: str) -> Fields:
        """Read an object."""
        found = self.optional_object(key)
        if found is None:
            raise self.wrong(key, "an object")
        return found

    def optional_object(self, key: str) -> Fields | None:
        """Read an object; None if there is none."""
        value = self.members.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Fields(self.path, value, self._name(key))

    def wrong(self, key: str, supported: str) -> UnreadableNode:
        """Return the error for a key that has a wrong value or is missing."""
        name = self._name(key)
        if key not in self.members:
            return UnreadableNode(self.path, f"no key {quoted(name)}", supported)
        return UnreadableNode(self.path, f"{quoted(name)}:{quoted(self.members[key])}", supported)

    def _name(self, key: str) -> str:
        return f"{self._within}.{key}" if self._within else key


def parse(path: str, data: bytes) -> Fields:
    """Parse the JSON object of a node.

    :raises UnreadableNode: the content is not an object in JSON, or has text that is not Unicode.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant)
        if "\\ud" in text.lower():  # json accepts half a surrogate pair, which cannot be written again
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise UnreadableNode(path, quoted_bytes(data), "an object in JSON") from None
    if not isinstance(value, dict):
        raise UnreadableNode(path, quoted(value), "an object in JSON")
    return Fields(path, value)


def encode(members: Mapping[str, object]) -> bytes:
    """Return JSON as Kafka writes it: UTF-8, without spaces."""
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def natural(text: str, highest: int = INT32_MAX) -> int | None:
    """Return the number that a text has in digits, without leading zeros; None if it has none."""
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or (text[0] == "0" and text != "0"):
        return None
    number = int(text)
    return number if number <= highest else None


def id_text(number: uuid.UUID) -> str:
    """Return an id as Kafka writes it: 22 characters of URL-safe base64, without padding."""
    return base64.urlsafe_b64encode(number.bytes).rstrip(b"=").decode("ascii")


def parse_id(text: str) -> uuid.UUID | None:
    """Return the id that :func:`id_text` writes so; None if it is not one."""
    try:
        number = uuid.UUID(bytes=base64.b64decode(text.encode("ascii") + b"==", b"-_", validate=True))
    except (ValueError, binascii.Error):
        return None
    return number if id_text(number) == text else None


def quoted(value: object) -> str:
    """Return a JSON value for an error message, on one line and cut to 120 characters."""
    try:
        text = printable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= _LONGEST_QUOTATION else f"{text[:_LONGEST_QUOTATION]}..."


def quoted_bytes(data: bytes) -> str:
    """Return the content of a node for an error message."""
    if not data:
        return "an empty node"
    return quoted(data[: 2 * _LONGEST_QUOTATION].decode("utf-8", "backslashreplace"))


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
