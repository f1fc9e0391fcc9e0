"""The documents made from the tables: the sample ``etc/server.properties`` and ``docs/settings.md``.

``python -m kafkatx.config.documents etc/server.properties docs/settings.md`` writes both.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import attrs

from kafkatx.config.properties import format_property
from kafkatx.config.table import broker, consumer_group, kafka_only, topic
from kafkatx.config.table.mirror.rows import FAMILIES, PREFIX
from kafkatx.config.table.row import Section, Setting, format_value
from kafkatx.config.table.security.sasl import MECHANISM
from kafkatx.config.topic_config import DEFAULT_FROM

_WIDTH = 100

_SAMPLE_HEAD = (
    "The settings of a kafkatx broker with their defaults. Remove the # at the beginning of a line to change"
    " the setting; lines without # set a value other than the default. Settings marked dynamic may change"
    " while the broker runs.",
    "This file is generated from the table of settings by: make documents",
)

_PAGE_HEAD = """\
# Settings

The broker reads a `.properties` file like Apache Kafka's: `kafkatx up --config server.properties`.
`--set name=value` on the command line overrides the file. Names and meanings are Kafka's. With an unknown
name the broker does not start, and suggests the nearest known name. Names that only Apache Kafka has are
accepted with one warning each, so that an existing `server.properties` starts the broker.

Settings marked dynamic may change while the broker runs, for one broker or for all: with `kafkatx configs`,
Apache Kafka's `kafka-configs`, or any client's admin calls. A value for this broker takes precedence over a
value for all brokers, and that over the file. Topic configs may always change. Changes take effect at once
and persist across restarts.

This page is generated from the table of settings by `make documents`.
"""

_TOPIC_HEAD = """\
The default of a config is the value of the first broker setting in "default from" that is set, or else the
value in "default".
"""

_GROUP_HEAD = """\
The default of a config is the value of the broker setting with the same name and the prefix `group.`.
"""


def sample() -> str:
    """Return a .properties file with every broker setting, its text and its default, commented out.

    A setting with a sample value is set to that value.
    """
    lines = [line for text in _SAMPLE_HEAD for line in _comment(text)]
    for section in broker.SECTIONS:
        lines += ["", *_banner(section)]
        for setting in section.settings:
            lines += ["", *_comment(f"{setting.doc} ({_facts(setting)})")]
            if setting.sample is None:
                lines.append("#" + format_property(setting.name, format_value(setting.default) or ""))
            else:
                lines.append(format_property(setting.name, setting.sample))
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page on settings, in Markdown."""
    parts = [_PAGE_HEAD]
    for section in (*broker.SECTIONS, *families()):
        parts += [f"## {section.title}\n", f"{section.doc}\n", settings_table(section.settings)]
    parts += [f"## {topic.HONOURED.title}\n", f"{topic.HONOURED.doc} {_TOPIC_HEAD}"]
    parts.append(_table(topic.HONOURED.settings, _topic_row, (*_COLUMNS[:-1], "default from", _COLUMNS[-1])))
    parts += [f"## {topic.KEPT.title}\n", f"{topic.KEPT.doc}\n"]
    parts.append(settings_table(topic.KEPT.settings))
    parts += [f"## {consumer_group.HONOURED.title}\n", f"{consumer_group.HONOURED.doc} {_GROUP_HEAD}"]
    parts.append(settings_table(consumer_group.HONOURED.settings))
    parts += ["## Names that only Apache Kafka has\n", "They are accepted with a warning and not used:\n"]
    parts.append(_wrap(", ".join(f"`{name}`" for name in sorted(kafka_only.NAMES))) + ".\n")
    prefixes = ", ".join(f"`{prefix}`" for prefix in sorted(kafka_only.PREFIXES))
    parts.append(f"So is every name that begins with {prefixes}.\n")
    return "\n".join(parts)


def families() -> Iterator[Section]:
    """Yield the sections of families: names of links, listeners and mechanisms are in capital letters."""
    for prefix, family in (
        ("listener.name.LISTENER.MECHANISM.", MECHANISM),
        *((f"{PREFIX}NAME.", family) for family in FAMILIES),
    ):
        shown = Section(family.title, family.doc)
        shown.settings += [attrs.evolve(setting, name=prefix + setting.name) for setting in family.settings]
        yield shown


def settings_table(settings: Iterable[Setting[object]]) -> str:
    """Return some settings as a table in Markdown."""
    return _table(settings, _row, _COLUMNS)


def main(arguments: list[str]) -> None:
    """Write the sample to the first path and the page to the second."""
    for path, text in zip(arguments, (sample(), page()), strict=True):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


_COLUMNS = ("name", "type", "default", "allowed", "meaning")


def _facts(setting: Setting[object]) -> str:
    """Return the unit, range and aliases of a setting in a few words."""
    facts = [setting.allowed]
    if setting.unit:
        facts.insert(0, setting.unit)
    if setting.default is None:
        facts.append("not set by default")
    if setting.dynamic:
        facts.append("dynamic")
    if setting.aliases:
        facts.append(f"aliases: {', '.join(setting.aliases)}")
    return "; ".join(facts)


def _banner(section: Section) -> Iterator[str]:
    yield "#" * _WIDTH
    yield from _comment(f"{section.title}. {section.doc}")


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, _WIDTH - 2, break_on_hyphens=False))


def _wrap(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def _row(setting: Setting[object]) -> tuple[str, ...]:
    meaning = setting.doc
    if setting.aliases:
        meaning += f" Aliases: {', '.join(f'`{alias}`' for alias in setting.aliases)}."
    if setting.dynamic:
        meaning += " Dynamic."
    unit = f", {setting.unit}" if setting.unit else ""
    default = format_value(setting.default)
    shown = "not set" if default is None else f"`{default}`" if default else "empty"
    kind = setting.type.name.lower() + unit
    return f"`{setting.name}`", kind, shown, setting.allowed, meaning


def _topic_row(setting: Setting[object]) -> tuple[str, ...]:
    *cells, meaning = _row(setting)
    return *cells, ", ".join(f"`{source.name}`" for source in DEFAULT_FROM[setting.name]), meaning


Row: TypeAlias = Callable[[Setting[object]], tuple[str, ...]]
"""Makes the cells of a setting's row."""


def _table(settings: Iterable[Setting[object]], row: Row, columns: tuple[str, ...]) -> str:
    rows = [columns, tuple("---" for _ in columns), *(row(setting) for setting in settings)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
