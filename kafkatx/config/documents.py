"""The documents that come from the tables: the sample ``etc/server.properties`` and ``docs/settings.md``.

``python -m kafkatx.config.documents etc/server.properties docs/settings.md`` writes both.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from kafkatx.config.properties import format_property
from kafkatx.config.table import broker, consumer_group, kafka_only, topic
from kafkatx.config.table.row import Section, Setting, format_value
from kafkatx.config.topic_config import DEFAULT_FROM

_WIDTH = 100

_SAMPLE_HEAD = (
    "The settings of a kafkatx broker with their defaults. Take the # from a line's beginning to change it;"
    " a line without one sets something other than the default. Those called dynamic may change while the"
    " broker runs, too.",
    "This file is generated from the table of settings by: make documents",
)

_PAGE_HEAD = """\
# Settings

The broker reads a `.properties` file as Apache Kafka's: `twistd -n kafkatx --config server.properties`.
`--set name=value` on the command line goes before the file. Names and meanings are Kafka's. A name that is
unknown stops the broker at its start and suggests the nearest; names that only Apache Kafka has are accepted
with one warning each, so that its own `server.properties` starts the broker.

A setting that is called dynamic may change while the broker runs, for one broker or for all: by
`kafkatx configs`, Apache Kafka's `kafka-configs`, or any client's admin calls. What was set for this broker
goes before what was set for all, and that before the file. The configs of a topic may always change. All of
it holds at once, and after a restart.

This page is generated from the table of settings by `make documents`.
"""

_TOPIC_HEAD = """\
What a topic does not say for itself comes from the first broker setting in "default from" that is set, else
from the default.
"""

_GROUP_HEAD = """\
What a group does not say for itself comes from the broker's setting of the same name with `group.` before it.
"""


def sample() -> str:
    """Return a .properties file with every broker setting, its words and its default, commented out.

    A setting with a value of its own for the sample is set to that.
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
    """The text of the page on settings, in Markdown."""
    parts = [_PAGE_HEAD]
    for section in broker.SECTIONS:
        parts += [f"## {section.title}\n", f"{section.doc}\n", settings_table(section.settings)]
    parts += [f"## {topic.HONOURED.title}\n", f"{topic.HONOURED.doc} {_TOPIC_HEAD}"]
    parts.append(_table(topic.HONOURED.settings, _topic_row, (*_COLUMNS[:-1], "default from", _COLUMNS[-1])))
    parts += [f"## {topic.KEPT.title}\n", f"{topic.KEPT.doc}\n"]
    parts.append(settings_table(topic.KEPT.settings))
    parts += [f"## {consumer_group.HONOURED.title}\n", f"{consumer_group.HONOURED.doc} {_GROUP_HEAD}"]
    parts.append(settings_table(consumer_group.HONOURED.settings))
    parts += ["## Names that only Apache Kafka has\n", "Accepted with a warning, and not used:\n"]
    parts.append(_wrap(", ".join(f"`{name}`" for name in sorted(kafka_only.NAMES))) + ".\n")
    below = ", ".join(f"`{prefix}`" for prefix in sorted(kafka_only.PREFIXES))
    parts.append(f"And every name that begins with {below}.\n")
    parts.append(
        _wrap(
            "One of them is refused: `authorizer.class.name`, because a broker that ignored it would let "
            "everyone do everything."
        )
        + "\n"
    )
    return "\n".join(parts)


def settings_table(settings: Iterable[Setting[Any]]) -> str:
    """Some settings as a table in Markdown."""
    return _table(settings, _row, _COLUMNS)


def main(arguments: list[str]) -> None:
    """Write the sample to the first path and the page to the second."""
    for path, text in zip(arguments, (sample(), page()), strict=True):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


_COLUMNS = ("name", "type", "default", "allowed", "meaning")


def _facts(setting: Setting[Any]) -> str:
    """Unit, range and other names of a setting, in a few words."""
    facts = [setting.allowed]
    if setting.unit:
        facts.insert(0, setting.unit)
    if setting.default is None:
        facts.append("not set by default")
    if setting.dynamic:
        facts.append("dynamic")
    if setting.aliases:
        facts.append(f"also called {', '.join(setting.aliases)}")
    return "; ".join(facts)


def _banner(section: Section) -> Iterator[str]:
    yield "#" * _WIDTH
    yield from _comment(f"{section.title}. {section.doc}")


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, _WIDTH - 2, break_on_hyphens=False))


def _wrap(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def _row(setting: Setting[Any]) -> tuple[str, ...]:
    meaning = setting.doc
    if setting.aliases:
        meaning += f" Also: {', '.join(f'`{alias}`' for alias in setting.aliases)}."
    if setting.dynamic:
        meaning += " Dynamic."
    unit = f", {setting.unit}" if setting.unit else ""
    default = format_value(setting.default)
    shown = "not set" if default is None else f"`{default}`" if default else "empty"
    kind = setting.type.name.lower() + unit
    return f"`{setting.name}`", kind, shown, setting.allowed, meaning


def _topic_row(setting: Setting[Any]) -> tuple[str, ...]:
    *cells, meaning = _row(setting)
    return *cells, ", ".join(f"`{source.name}`" for source in DEFAULT_FROM[setting.name]), meaning


def _table(settings: Iterable[Setting[Any]], row: Any, columns: tuple[str, ...]) -> str:
    rows = [columns, tuple("---" for _ in columns), *(row(setting) for setting in settings)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
