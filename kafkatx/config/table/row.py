"""One row of the settings table: :class:`Setting`, and the readers that make values of text."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import attrs

from kafkatx.errors import SettingError

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class ConfigType(enum.IntEnum):
    """The type of a setting, as DescribeConfigs numbers it (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@attrs.frozen(eq=False, repr=False)
class Setting(Generic[T]):
    """A setting's name, type, default, range and words.

    ``T`` is the type of its value; ``None`` is in it only where the default is None, which means
    "not set: another setting decides".
    """

    name: str
    type: ConfigType
    default: T
    doc: str
    allowed: str
    """The range, for a person: "true or false", "1 or more"."""
    read: Callable[[str], Any]
    """Makes the value of a text; raises ValueError when it is not in the range."""
    unit: str = ""
    dynamic: bool = False
    """Whether Kafka lets it change while the broker runs; else DescribeConfigs calls it read-only."""
    aliases: tuple[str, ...] = ()
    """Other names that decide when this one is not set, the first that is set."""
    default_for: tuple[str, ...] = ()
    """Topic configs whose default this broker setting is."""
    scale: int = 1
    """How many units of the topic config one unit of this setting is (hours: 3,600,000 ms)."""
    legacy: tuple[str, ...] = ()
    """Values that Apache Kafka reads as "not set"; they are taken as such."""
    sample: str | None = None
    """The value that the sample file sets; None: the sample shows the default, commented out."""

    def parse(self, text: str, name: str = "") -> T:
        """Make the value of *text*.

        :param name: under which name it was set, if not under this setting's own.
        :raises SettingError: the text is not allowed; the message says what is.
        """
        try:
            value: T = self.read(text)
        except ValueError:
            raise SettingError(f"{name or self.name}={text}: the value must be {self.allowed}") from None
        return value

    def scaled(self, value: Any) -> Any:
        """The value in the unit of the topic config that this setting gives; below 0 is -1, no limit."""
        if self.scale == 1:
            return value
        return -1 if value < 0 else value * self.scale


def format_value(value: Any) -> str | None:
    """A value as Kafka shows it, and as the reader of its setting takes it; None for "not set"."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, frozenset)):
        return ",".join(sorted(value) if isinstance(value, frozenset) else value)
    return str(value)


class Section:
    """A part of the table with a heading. Its methods add rows, in the order in which documents list them."""

    def __init__(self, title: str, doc: str) -> None:
        self.title = title
        self.doc = doc
        self.settings: list[Setting[Any]] = []

    def _add(self, setting: Setting[T]) -> Setting[T]:
        self.settings.append(setting)
        return setting

    def boolean(self, name: str, default: bool, doc: str, **more: Any) -> Setting[bool]:
        """Add a row that is true or false."""
        return self._add(
            Setting(name, ConfigType.BOOLEAN, default, doc, "true or false", _read_boolean, **more)
        )

    def integer(
        self, name: str, default: int, doc: str, *, low: int = -INT_MAX - 1, high: int = INT_MAX, **more: Any
    ) -> Setting[int]:
        """Add a row of 32 bits."""
        return self._add(_integer(ConfigType.INT, name, default, doc, low, high, INT_MAX, more))

    def long(
        self,
        name: str,
        default: int,
        doc: str,
        *,
        low: int = -LONG_MAX - 1,
        high: int = LONG_MAX,
        **more: Any,
    ) -> Setting[int]:
        """Add a row of 64 bits."""
        return self._add(_integer(ConfigType.LONG, name, default, doc, low, high, LONG_MAX, more))

    def optional_integer(
        self, name: str, doc: str, *, low: int = -INT_MAX - 1, high: int = INT_MAX, **more: Any
    ) -> Setting[int | None]:
        """Add a row of 32 bits that is not set by default."""
        return self._add(_integer(ConfigType.INT, name, None, doc, low, high, INT_MAX, more))

    def optional_long(
        self, name: str, doc: str, *, low: int = -LONG_MAX - 1, high: int = LONG_MAX, **more: Any
    ) -> Setting[int | None]:
        """Add a row of 64 bits that is not set by default."""
        return self._add(_integer(ConfigType.LONG, name, None, doc, low, high, LONG_MAX, more))

    def double(
        self, name: str, default: float, doc: str, *, low: float, high: float, **more: Any
    ) -> Setting[float]:
        """Add a row that is a number from *low* to *high*."""

        def read(text: str) -> float:
            value = float(_ascii(text))
            if not low <= value <= high:  # which "nan" is not either
                raise ValueError(text)
            return value

        allowed = f"a number from {low} to {high}"
        return self._add(Setting(name, ConfigType.DOUBLE, default, doc, allowed, read, **more))

    def string(
        self,
        name: str,
        default: str,
        doc: str,
        *,
        choices: Collection[str] = (),
        synonyms: Mapping[str, str] = MappingProxyType({}),
        **more: Any,
    ) -> Setting[str]:
        """Add a row of text, one of *choices* if there are any.

        :param synonyms: other words for some of the choices, as earlier versions of Kafka had them.
        """
        read, allowed = _string_reader(choices, synonyms)
        return self._add(Setting(name, ConfigType.STRING, default, doc, allowed, read, **more))

    def optional_string(self, name: str, doc: str, **more: Any) -> Setting[str | None]:
        """Add a row of text that is not set by default."""
        read, allowed = _string_reader(())
        return self._add(Setting(name, ConfigType.STRING, None, doc, allowed, read, **more))

    def plugin(self, name: str, default: str, doc: str, **more: Any) -> Setting[str]:
        """Add a row that names a part of the program; in Python it may be the part itself."""
        read, _ = _string_reader(())
        return self._add(Setting(name, ConfigType.CLASS, default, doc, "a name, or an object", read, **more))

    def names(
        self,
        name: str,
        default: tuple[str, ...],
        doc: str,
        *,
        choices: Collection[str] = (),
        empty: bool = True,
        **more: Any,
    ) -> Setting[tuple[str, ...]]:
        """Add a row that is a list, with commas between; each item one of *choices* if there are any."""
        allowed = f"one or more of {', '.join(choices)}" if choices else "a list with commas between"
        if empty and choices:
            allowed = f"any of {', '.join(choices)}, or empty"
        if not empty and not choices:
            allowed += ", with at least one item"

        def read(text: str) -> tuple[str, ...]:
            items = tuple(item.strip() for item in text.split(",")) if text.strip() else ()
            if not all(items) or not (items or empty) or (choices and not set(items) <= set(choices)):
                raise ValueError(text)
            return items

        return self._add(Setting(name, ConfigType.LIST, default, doc, allowed, read, **more))


def by_name(sections: Iterable[Section]) -> dict[str, Setting[Any]]:
    """Every setting of some sections under its name, in the table's order."""
    return {setting.name: setting for section in sections for setting in section.settings}


def _ascii(text: str) -> str:
    """A number's text without white space around it; Python's own digits and underscores are not Kafka's."""
    stripped = text.strip()
    if not stripped.isascii() or "_" in stripped or len(stripped) > 40:
        raise ValueError(text)
    return stripped


def _read_boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


def _string_reader(
    choices: Collection[str], synonyms: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], str], str]:
    def read(text: str) -> str:
        stripped = text.strip()
        stripped = synonyms.get(stripped, stripped)
        if choices and stripped not in choices:
            raise ValueError(text)
        return stripped

    return read, f"one of {', '.join(choices)}" if choices else "text"


def _integer(
    kind: ConfigType,
    name: str,
    default: Any,
    doc: str,
    low: int,
    high: int,
    largest: int,
    more: dict[str, Any],
) -> Setting[Any]:
    def read(text: str) -> int:
        value = int(_ascii(text))
        if not low <= value <= high:
            raise ValueError(text)
        return value

    bits = 32 if largest == INT_MAX else 64
    if high < largest:
        allowed = f"a whole number from {low} to {high}"
    elif low > -largest - 1:
        allowed = f"a whole number of {bits} bits, {low} or more"
    else:
        allowed = f"a whole number of {bits} bits"
    return Setting(name, kind, default, doc, allowed, read, **more)
