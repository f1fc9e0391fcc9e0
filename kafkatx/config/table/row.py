"""One row of a settings table: :class:`Setting`; and :class:`Section`, which makes rows. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypedDict, TypeVar

import attrs
from typing_extensions import Unpack

from kafkatx.errors import SettingError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D", int, None)

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

HIDDEN = "[hidden]"
"""Stands for a secret in texts for people, as in Apache Kafka."""


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
class Setting(Generic[T_co]):
    """A setting's name, type, default, range and text.

    ``T`` is the type of its value. It includes ``None`` only if the default is None, which means that another
    setting applies.
    """

    name: str
    type: ConfigType
    default: T_co
    doc: str
    allowed: str
    """The range, in words: "true or false", "1 or more"."""
    read: Callable[[str], T_co]
    """Converts text to a value; raises ValueError if it is not in the range."""
    unit: str = ""
    dynamic: bool = False
    """True if it may change while the broker runs; otherwise it is read-only in DescribeConfigs."""
    aliases: tuple[str, ...] = ()
    """Other names; the first one that is set counts if the setting's own name is not set."""
    default_for: tuple[str, ...] = ()
    """Topic configs whose default is this broker setting."""
    scale: int = 1
    """Units of the topic config per unit of this setting (hours: 3,600,000 ms)."""
    legacy: tuple[str, ...] = ()
    """Values that mean "not set", as in Apache Kafka."""
    sample: str | None = None
    """The value in the sample file; None: the sample has the default, commented out."""

    def parse(self, text: str, name: str = "") -> T_co:
        """Convert *text* to a value.

        :param name: the name by which it was set, if not the setting's own.
        :raises SettingError: the text is not allowed; the message says what is.
        """
        try:
            value: T_co = self.read(text)
        except ValueError:
            shown = self.shown(text)
            raise SettingError(f"{name or self.name}={shown}: the value must be {self.allowed}") from None
        return value

    def shown(self, text: str) -> str:
        """Return a text as a log or an error may show it: not that of a secret."""
        return HIDDEN if self.type is ConfigType.PASSWORD else text

    def scaled(self, value: object) -> Any:
        """Return the value in the unit of the topic config; -1 (no limit) if it is negative."""
        if self.scale == 1 or not isinstance(value, int):
            return value
        return -1 if value < 0 else value * self.scale


def format_value(value: object) -> str | None:
    """Return a value as Kafka's text, which the setting parses to the same value; None means "not set"."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, frozenset)):
        return ",".join(sorted(value) if isinstance(value, frozenset) else value)
    return str(value)


class Options(TypedDict, total=False):
    """Attributes of a :class:`Setting` that any method of :class:`Section` accepts."""

    unit: str
    dynamic: bool
    aliases: tuple[str, ...]
    default_for: tuple[str, ...]
    scale: int
    legacy: tuple[str, ...]
    sample: str | None


class Section:
    """A part of a table with a heading. Its methods add rows in the order of the documents."""

    def __init__(self, title: str, doc: str) -> None:
        self.title = title
        self.doc = doc
        self.settings: list[Setting[object]] = []

    def _add(self, setting: Setting[T]) -> Setting[T]:
        self.settings.append(setting)
        return setting

    def repeat(self, setting: Setting[T], prefix: str, doc: str) -> Setting[T]:
        """Add a setting with the type and the default of another one, whose names get a prefix."""
        aliases = tuple(prefix + alias for alias in setting.aliases)
        return self._add(
            attrs.evolve(setting, name=prefix + setting.name, aliases=aliases, doc=doc, dynamic=False)
        )

    def boolean(self, name: str, default: bool, doc: str, **more: Unpack[Options]) -> Setting[bool]:
        """Add a boolean setting."""
        return self._add(
            Setting(name, ConfigType.BOOLEAN, default, doc, "true or false", _read_boolean, **more)
        )

    def integer(
        self,
        name: str,
        default: int,
        doc: str,
        *,
        low: int = -INT_MAX - 1,
        high: int = INT_MAX,
        **more: Unpack[Options],
    ) -> Setting[int]:
        """Add an integer of 32 bits."""
        return self._add(_integer(ConfigType.INT, name, default, doc, low, high, INT_MAX, more))

    def long(
        self,
        name: str,
        default: int,
        doc: str,
        *,
        low: int = -LONG_MAX - 1,
        high: int = LONG_MAX,
        **more: Unpack[Options],
    ) -> Setting[int]:
        """Add an integer of 64 bits."""
        return self._add(_integer(ConfigType.LONG, name, default, doc, low, high, LONG_MAX, more))

    def optional_integer(
        self, name: str, doc: str, *, low: int = -INT_MAX - 1, high: int = INT_MAX, **more: Unpack[Options]
    ) -> Setting[int | None]:
        """Add an integer of 32 bits without a default."""
        return self._add(_integer(ConfigType.INT, name, None, doc, low, high, INT_MAX, more))

    def optional_long(
        self, name: str, doc: str, *, low: int = -LONG_MAX - 1, high: int = LONG_MAX, **more: Unpack[Options]
    ) -> Setting[int | None]:
        """Add an integer of 64 bits without a default."""
        return self._add(_integer(ConfigType.LONG, name, None, doc, low, high, LONG_MAX, more))

    def double(
        self, name: str, default: float, doc: str, *, low: float, high: float, **more: Unpack[Options]
    ) -> Setting[float]:
        """Add a number from *low* to *high*."""

        def read(text: str) -> float:
            value = float(_ascii(text))
            if not low <= value <= high:  # also rejects nan
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
        **more: Unpack[Options],
    ) -> Setting[str]:
        """Add text, one of *choices* if there are any.

        :param synonyms: other names of some choices, from earlier versions of Kafka.
        """
        read, allowed = _string_reader(choices, synonyms)
        return self._add(Setting(name, ConfigType.STRING, default, doc, allowed, read, **more))

    def optional_string(
        self, name: str, doc: str, *, choices: Collection[str] = (), **more: Unpack[Options]
    ) -> Setting[str | None]:
        """Add text without a default, one of *choices* if there are any."""
        read, allowed = _string_reader(choices)
        return self._add(Setting(name, ConfigType.STRING, None, doc, allowed, read, **more))

    def optional_password(self, name: str, doc: str, **more: Unpack[Options]) -> Setting[str | None]:
        """Add text without a default that no client and no log is shown; it is taken as it stands."""
        return self._add(Setting(name, ConfigType.PASSWORD, None, doc, "text", str, **more))

    def parsed(
        self,
        name: str,
        kind: ConfigType,
        default: T,
        doc: str,
        read: Callable[[str], T],
        allowed: str,
        **more: Unpack[Options],
    ) -> Setting[T]:
        """Add a setting with its own form, which *allowed* describes and *read* reads."""
        return self._add(Setting(name, kind, default, doc, allowed, read, **more))

    def plugin(
        self,
        name: str,
        default: str,
        doc: str,
        *,
        synonyms: Mapping[str, str] = MappingProxyType({}),
        **more: Unpack[Options],
    ) -> Setting[str]:
        """Add the name of a plugin; in Python the value may also be the object itself.

        :param synonyms: names of classes of other clients that do the same as built-in plugins.
        """
        read, _ = _string_reader((), synonyms)
        return self._add(Setting(name, ConfigType.CLASS, default, doc, "a name, or an object", read, **more))

    def names(
        self,
        name: str,
        default: tuple[str, ...],
        doc: str,
        *,
        choices: Collection[str] = (),
        empty: bool = True,
        **more: Unpack[Options],
    ) -> Setting[tuple[str, ...]]:
        """Add a list separated by commas; each item is one of *choices* if there are any."""
        allowed = f"one or more of {', '.join(choices)}" if choices else "a list separated by commas"
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


def by_name(sections: Iterable[Section]) -> dict[str, Setting[object]]:
    """Return every setting of some sections by name, in the table's order."""
    return {setting.name: setting for section in sections for setting in section.settings}


def _ascii(text: str) -> str:
    """Strip white space from a number; reject non-ASCII digits and underscores, as Kafka does."""
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
    default: D,
    doc: str,
    low: int,
    high: int,
    largest: int,
    more: Options,
) -> Setting[int | D]:
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
