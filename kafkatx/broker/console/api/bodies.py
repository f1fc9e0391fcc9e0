"""Fields of a request's body, with errors for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.broker.console.errors import invalid
from kafkatx.web.calls import Call

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Fields:
    """The fields of an object of JSON.

    :param where: the name of the object, for errors.
    """

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values = values
        self._where = where

    @classmethod
    def of(cls, call: Call) -> Fields:
        """Return the fields of a request.

        :raises ConsoleError: the body is no object.
        :raises WebError: it is not JSON.
        """
        return cls.read(call.json(), "the body")

    @classmethod
    def read(cls, value: object, name: str) -> Fields:
        """Return the fields of a value.

        :raises ConsoleError: it is no object.
        """
        if not isinstance(value, dict):
            raise invalid(f"{name} must be an object of JSON")
        return cls(value, "" if name == "the body" else f"{name}.")

    def has(self, name: str) -> bool:
        """Return True if a field is there, and not null."""
        return self._values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a field that is a text.

        :raises ConsoleError: it is none, or missing without a default.
        """
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or "\0" in value or not _is_unicode(value):
            raise invalid(f"{self._where}{name} must be a text")
        return value

    def flag(self, name: str) -> bool:
        """Return a field that is true or false; a missing one is false.

        :raises ConsoleError: it is neither.
        """
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise invalid(f"{self._where}{name} must be true or false")
        return value

    def whole(self, name: str, default: int | None = None, low: int = LOWEST, high: int = HIGHEST) -> int:
        """Return a field that is a whole number, or a text of one.

        :raises ConsoleError: it is none, out of its range, or missing without a default.
        """
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        return whole(value, f"{self._where}{name}", low, high)

    def names(self, name: str, most: int = 10_000) -> list[str]:
        """Return a field that is a list of texts; a missing one is empty.

        :raises ConsoleError: it is none, or longer than *most*.
        """
        value = self._values.get(name)
        items = [] if value is None else value
        if not isinstance(items, list) or len(items) > most:
            raise invalid(f"{self._where}{name} must be a list of at most {most} texts")
        if not all(isinstance(each, str) and _is_unicode(each) for each in items):
            raise invalid(f"{self._where}{name} must be a list of texts")
        return items

    def numbers(self, name: str, most: int = 100_000) -> list[int] | None:
        """Return a field that is a list of whole numbers; None if it is missing or null.

        :raises ConsoleError: it is none, or longer than *most*.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > most:
            raise invalid(f"{self._where}{name} must be a list of at most {most} numbers")
        return [whole(each, f"{self._where}{name}", 0, 2**31 - 1) for each in value]

    def child(self, name: str) -> Fields:
        """Return a field that is an object; a missing one is empty.

        :raises ConsoleError: it is none.
        """
        value = self._values.get(name)
        return Fields.read({} if value is None else value, f"{self._where}{name}")

    def children(self, name: str, most: int = 1000) -> list[Fields]:
        """Return a field that is a list of objects; a missing one is empty.

        :raises ConsoleError: it is none, or longer than *most*.
        """
        value = self._values.get(name)
        items = [] if value is None else value
        if not isinstance(items, list) or len(items) > most:
            raise invalid(f"{self._where}{name} must be a list of at most {most} objects")
        return [Fields.read(each, f"{self._where}{name}") for each in items]

    def raw(self, name: str) -> object:
        """Return a field as it is; None if it is missing."""
        return self._values.get(name)

    def texts(self) -> dict[str, str]:
        """Return all fields, which must be texts, numbers, or true or false.

        :raises ConsoleError: one is none of these.
        """
        found = {}
        for name, value in self._values.items():
            if isinstance(value, bool):
                value = str(value).lower()
            if not isinstance(value, (str, int, float)):
                raise invalid(f"{self._where}{name} must be a text")
            found[name] = str(value)
        return found

    def all_names(self) -> list[str]:
        """Return the names of all fields."""
        return list(self._values)


def whole(value: object, name: str, low: int = LOWEST, high: int = HIGHEST) -> int:
    """Return a whole number, or the number that a text is.

    :raises ConsoleError: it is none, or out of its range.
    """
    if (
        isinstance(value, str)
        and value.removeprefix("-").isdecimal()
        and value.isascii()
        and len(value) <= 20
    ):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise invalid(f"{name} must be a whole number from {low} to {high}")
    return value


def _is_unicode(text: str) -> bool:
    """Return False for half of a surrogate pair, which no name can have."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
