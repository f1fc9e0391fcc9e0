"""The settings of a client: checks names, and parses values that are text or Python objects. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import attrs

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.tables import admin, common, consumer, producer, zookeeper
from kafkatx.config.table.row import ConfigType, Section, Setting, by_name
from kafkatx.errors import SettingError
from kafkatx.names import PLUGIN_SETTINGS

T = TypeVar("T")

RETRIES_INFINITE = 1 << 30


class _Table(Protocol):
    """A module of :mod:`kafkatx.clientcore.tables`."""

    SECTIONS: tuple[Section, ...]
    KEPT: Section
    DEFAULTS: Mapping[str, object]


KINDS: Mapping[str, Any] = {"producer": producer, "consumer": consumer, "admin": admin}

REFUSED = {
    "sasl.kerberos.": "there is no Kerberos (GSSAPI): use SCRAM-SHA-512",
    "api.version": "the client asks each broker for the versions that it supports: leave it out",
    "group.protocol": "the classic protocol is the one that this client speaks: leave it out",
    "group.remote.assignor": "the classic protocol is the one that this client speaks, where a member "
    "assigns: set partition.assignment.strategy",
}
"""Names, or prefixes of names, that are refused because ignoring them would be wrong."""


@attrs.frozen(eq=False)
class ClientSettings:
    """The settings of one client: ``settings[common.CLIENT_ID]``.

    :ivar kind: ``producer``, ``consumer`` or ``admin``.
    :ivar explicit: the settings that were set to text, a number or the like: text by Kafka's names.
    :ivar objects: the settings that were set to an object (a partitioner, a callback), by Kafka's names;
        ``settings[...]`` is then the default.
    """

    kind: str
    explicit: Mapping[str, str] = attrs.field(repr=False)  # with passwords
    objects: Mapping[str, Any] = attrs.field(repr=False)
    _values: Mapping[str, Any] = attrs.field(repr=False)

    @classmethod
    def load(cls, kind: str, values: Mapping[str, object] = MappingProxyType({})) -> ClientSettings:
        """Check and parse settings.

        :param kind: ``producer``, ``consumer`` or ``admin``.
        :param values: by Kafka's names, with dots or underscores. A value is text as in a properties file, a
            bool, a number or a list of texts; for a plugin also an object. None means "not set".
        :raises SettingError: a name is unknown (the nearest is suggested), or a value is not allowed.
        """
        table: _Table = KINDS[kind]
        rows = by_name((*common.SECTIONS, *zookeeper.SECTIONS, common.KEPT, *table.SECTIONS, table.KEPT))
        explicit: dict[str, str] = {}
        objects: dict[str, object] = {}
        for given, value in _named(values):
            setting = None if given.startswith(PLUGIN_SETTINGS) else _row(kind, given, rows)
            if value is None:
                continue
            text = _text(value)
            if setting is None:
                explicit[given] = str(value) if text is None else text
            elif text is not None:
                explicit[given] = text
            elif setting.type in (ConfigType.CLASS, ConfigType.LIST):
                objects[setting.name] = value
            else:
                raise SettingError(f"{given}={value!r}: the value must be {setting.allowed}")
        found = {name: _value(setting, explicit, table.DEFAULTS) for name, setting in rows.items()}
        return cls(kind, explicit, objects, found)

    def __getitem__(self, setting: Setting[T]) -> T:
        value: T = self._values[setting.name]
        return value

    def is_set(self, setting: Setting[object]) -> bool:
        """Return True if the value was set; False if it is the default."""
        return setting.name in self.objects or any(
            name in self.explicit for name in (setting.name, *setting.aliases)
        )

    def pauses(self, first: Setting[int], longest: Setting[int]) -> Backoff:
        """Return endless pauses of lengths that two settings say."""
        return Backoff(RETRIES_INFINITE, self[first], self[longest], JITTER)

    def part(self, setting: Setting[str]) -> Any:
        """Return the object that a plugin setting was set to, or else the plugin's name."""
        return self.objects.get(setting.name, self[setting])


def _named(values: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Yield the values by names with dots.

    :raises SettingError: a name is given both with dots and with underscores.
    """
    seen: set[str] = set()
    for given, value in values.items():
        name = given.replace("_", ".")
        if name in seen:
            raise SettingError(f"{name} is set twice, with dots and with underscores: leave one out")
        seen.add(name)
        yield name, value


def _row(kind: str, name: str, rows: Mapping[str, Setting[object]]) -> Setting[object]:
    for row in rows.values():
        if name == row.name or name in row.aliases:
            return row
    for start, why in REFUSED.items():
        if name == start or (start.endswith(".") and name.startswith(start)):
            raise SettingError(f"{name} cannot be set: {why}")
    others = [other for other in KINDS if other != kind and name in by_name(KINDS[other].SECTIONS)]
    if others:
        raise SettingError(f"{name} is a setting of the {others[0]}, not of the {kind}: leave it out")
    known = {name for row in rows.values() for name in (row.name, *row.aliases)}
    near = difflib.get_close_matches(name, sorted(known), 1)
    advice = (
        f"did you mean {near[0]}?" if near else "see `kafkatx docs client-settings` for those that there are"
    )
    raise SettingError(f"{name} is not a setting of a {kind}; {advice}")


def _text(value: object) -> str | None:
    """Return a value as text, as in a properties file; None if it has no such form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return str(int(value)) if value == value // 1 else repr(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return None


def _value(setting: Setting[T], explicit: Mapping[str, str], defaults: Mapping[str, Any]) -> T:
    for name in (setting.name, *setting.aliases):
        if name in explicit:
            return setting.parse(explicit[name], name)
    default: T = defaults.get(setting.name, setting.default)
    return default
