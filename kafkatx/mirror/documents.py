"""Generates ``docs/mirror-settings.md`` from the table of a mirror's settings.

``python -m kafkatx.mirror.documents docs/mirror-settings.md`` writes it.
"""

from __future__ import annotations

import sys

from kafkatx.config.documents import settings_table
from kafkatx.mirror.table import SECTIONS

_HEAD = """\
# Settings of a mirror

The settings of `kafkatx mirror run` ([how to use it](mirror-run.md)), in a file like Java's `.properties`. An
unknown name is an error that suggests the nearest known name. `--set name=value` on the command line goes
before the file.

This page is generated from the table of settings by `make documents`.
"""


def page() -> str:
    """Return the text of the page, in Markdown."""
    parts = [_HEAD]
    for section in SECTIONS:
        parts.append(f"## {section.title}\n")
        if section.doc:
            parts.append(f"{section.doc}\n")
        parts.append(settings_table(section.settings))
    return "\n".join(parts)


def main(path: str) -> None:
    """Write the page to *path*."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page())


if __name__ == "__main__":
    main(sys.argv[1])
