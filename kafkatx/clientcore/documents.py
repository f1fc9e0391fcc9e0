"""Generates ``docs/client-settings.md`` from the tables of client settings.

``python -m kafkatx.clientcore.documents docs/client-settings.md`` writes it.
"""

from __future__ import annotations

import sys

from kafkatx.clientcore.settings import KINDS, REFUSED
from kafkatx.clientcore.tables import common, zookeeper
from kafkatx.config.documents import settings_table
from kafkatx.config.table.row import Section

_HEAD = """\
# Client settings

The settings of `kafkatx.client` have Kafka's names, with dots (`bootstrap.servers`) or underscores
(`bootstrap_servers`). A value is text, as in a properties file, or a Python object. An unknown name is an
error that suggests the nearest known name. Types and defaults are those of Kafka's Java client 4.0, unless
this page says otherwise.

This page is generated from the tables of settings by `make documents`.
"""

_OTHER_DEFAULTS = "This client has other defaults for these settings of every client: "


def page() -> str:
    """Return the text of the page, in Markdown."""
    parts = [_HEAD, "## Every client\n", *_sections((*common.SECTIONS, *zookeeper.SECTIONS))]
    for kind, table in KINDS.items():
        parts.append(f"## {'Admin client' if kind == 'admin' else kind.capitalize()}\n")
        if table.DEFAULTS:
            defaults = ", ".join(f"`{name}`: `{value}`" for name, value in table.DEFAULTS.items())
            parts.append(f"{_OTHER_DEFAULTS}{defaults}.\n")
        parts += _sections(table.SECTIONS)
    parts += ["## Accepted and ignored\n", f"{common.KEPT.doc}\n"]
    kept = {row.name: row for each in (common, *KINDS.values()) for row in each.KEPT.settings}
    parts += [
        settings_table(kept.values()),
        "## Refused\n",
        "The client rejects these settings; ignoring them would be wrong:\n",
    ]
    parts += [f"- `{name}{'*' if name.endswith('.') else ''}`: {why}" for name, why in REFUSED.items()]
    return "\n".join(parts) + "\n"


def _sections(sections: tuple[Section, ...]) -> list[str]:
    parts = []
    for section in sections:
        parts += [f"### {section.title}\n", f"{section.doc}\n", settings_table(section.settings)]
    return parts


def main(path: str) -> None:
    """Write the page to *path*."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page())


if __name__ == "__main__":
    main(sys.argv[1])
