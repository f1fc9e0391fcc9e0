"""The settings of a mirror: names are checked, and values parsed. Reads the settings file; otherwise pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

import attrs

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.config.properties import read_properties
from kafkatx.config.table.row import Setting, by_name
from kafkatx.errors import SettingError
from kafkatx.mirror import table
from kafkatx.mirror.core.names import TopicNames, compiled
from kafkatx.names import PLUGIN_SETTINGS

T = TypeVar("T")

ALIAS = re.compile(r"[a-zA-Z0-9_-]{1,100}")
SOURCE, TARGET = "source.", "target."

_ROWS = by_name(table.SECTIONS)
_PER_SOURCE = {row.name for row in table.PER_SOURCE}
_FIXED = {
    "isolation.level": "read_committed",
    "auto.offset.reset": "none",
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
}
"""Settings of the consumers; only the first may be set to another value."""


@attrs.frozen(eq=False)
class SourceSettings:
    """One source.

    :ivar consumer: settings of its consumer, by Kafka's names.
    :ivar names: its topics and their copies' names.
    :ivar filter: name of the filter plugin; empty: none.
    :ivar from_end: true to begin after the last record of a partition of which nothing is copied yet.
    """

    alias: str
    consumer: Mapping[str, str]
    names: TopicNames
    filter: str
    from_end: bool


@attrs.frozen(eq=False)
class MirrorSettings:
    """All settings of a mirror: ``settings[table.BATCH_BYTES]``.

    :ivar target: settings of the target's client, by Kafka's names.
    :ivar explicit: everything that was set, as text.
    """

    sources: tuple[SourceSettings, ...]
    target: Mapping[str, str]
    explicit: Mapping[str, str]
    _values: Mapping[str, object]

    def __getitem__(self, setting: Setting[T]) -> T:
        return self._values[setting.name]  # type: ignore[return-value]

    @classmethod
    def read(cls, path: str, overrides: Sequence[tuple[str, str]] = ()) -> MirrorSettings:
        """Read a settings file.

        :param overrides: names and values that go before the file.
        :raises SettingError: the file cannot be read, or as :meth:`load`.
        """
        return cls.load({**read_properties(path), **dict(overrides)})

    @classmethod
    def load(cls, values: Mapping[str, str]) -> MirrorSettings:
        """Check and parse settings.

        :raises SettingError: one is unknown (the nearest is suggested), missing, or has a bad value.
        """
        found = {row.name: _parse(row, values) for row in _ROWS.values()}
        aliases = table.SOURCES.parse(values.get(table.SOURCES.name, ""))
        _check_aliases(aliases, str(found[table.TARGET_ALIAS.name]))
        of_source: dict[str, dict[str, str]] = {alias: {} for alias in aliases}
        target: dict[str, str] = {}
        for name, value in values.items():
            if name in _ROWS or name.startswith(PLUGIN_SETTINGS):
                continue
            alias, rest = _prefixed(name, aliases)
            if alias is not None:
                of_source[alias][rest] = value
            elif name.startswith(TARGET):
                target[name.removeprefix(TARGET)] = value
            else:
                raise SettingError(_unknown(name, aliases))
        client_id = str(found[table.CLIENT_ID.name])
        target = {common.CLIENT_ID.name: client_id, **target}
        _check_client("admin", target, TARGET)
        share = table.BUFFER_BYTES.parse(str(found[table.BUFFER_BYTES.name])) // len(aliases)
        for own in of_source.values():
            own.setdefault(consumer.READAHEAD_BYTES.name, str(share))
        sources = tuple(_source(alias, of_source[alias], values, found) for alias in aliases)
        compiled("groups", str(found[table.GROUPS.name]))
        compiled("groups.exclude", str(found[table.GROUPS_EXCLUDE.name]))
        return cls(sources, target, dict(values), found)


def _parse(row: Setting[object], values: Mapping[str, str]) -> object:
    return row.parse(values[row.name]) if row.name in values else row.default


def _check_aliases(aliases: Sequence[str], target: str) -> None:
    for alias in aliases:
        if not ALIAS.fullmatch(alias):
            raise SettingError(f"sources={alias}: an alias has letters, digits, - and _ only")
    if len(set(aliases)) < len(aliases):
        raise SettingError(f"sources={','.join(aliases)}: an alias is there twice")
    if target in aliases:
        raise SettingError(
            f"target.alias={target}: a source has this alias, too; the clusters need different ones"
        )


def _prefixed(name: str, aliases: Sequence[str]) -> tuple[str | None, str]:
    for alias in aliases:
        prefix = f"{SOURCE}{alias}."
        if name.startswith(prefix):
            return alias, name[len(prefix) :]
    return None, name


def _unknown(name: str, aliases: Sequence[str]) -> str:
    if name.startswith(SOURCE):
        return f"{name}: sources has no such alias; it has {', '.join(aliases)}"
    near = difflib.get_close_matches(name, [*_ROWS, f"{TARGET}bootstrap.servers"], 1)
    advice = (
        f"did you mean {near[0]}?" if near else "see `kafkatx docs mirror-settings` for those that there are"
    )
    return f"{name} is not a setting of a mirror; {advice}"


def _source(
    alias: str, own: Mapping[str, str], values: Mapping[str, str], found: Mapping[str, object]
) -> SourceSettings:
    prefix = f"{SOURCE}{alias}."

    def value(row: Setting[str]) -> str:
        return row.parse(own[row.name], prefix + row.name) if row.name in own else str(found[row.name])

    given = {name: text for name, text in own.items() if name not in _PER_SOURCE}
    for name in list(_FIXED)[1:]:
        if name in given:
            raise SettingError(f"{prefix}{name} cannot be set: a mirror needs {_FIXED[name]}")
    if "group.id" in given:
        raise SettingError(f"{prefix}group.id cannot be set: a mirror has no group")
    client = {common.CLIENT_ID.name: str(found[table.CLIENT_ID.name]), **_FIXED, **given}
    _check_client("consumer", client, prefix)
    names = TopicNames(
        alias,
        str(found[table.TARGET_ALIAS.name]),
        value(table.TOPICS),
        value(table.TOPICS_EXCLUDE),
        value(table.RENAME),
    )
    return SourceSettings(alias, client, names, value(table.FILTER), value(table.START) == "latest")


def _check_client(kind: str, values: Mapping[str, str], prefix: str) -> None:
    """Check the settings of a client.

    :raises SettingError: one is wrong, or there is no address.
    """
    if not values.get(common.BOOTSTRAP_SERVERS.name, "").strip():
        raise SettingError(f"{prefix}{common.BOOTSTRAP_SERVERS.name} is not set: give it HOST:PORT,...")
    try:
        ClientSettings.load(kind, values)
    except SettingError as error:
        raise SettingError(f"{prefix}* : {error}") from None
