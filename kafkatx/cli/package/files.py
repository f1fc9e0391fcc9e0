"""The package's files that are no modules: ``etc/`` as ``samples``, the Markdown of ``docs/`` as ``pages``.

In a clone of the repository both are symbolic links, and in an installed package directories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

SAMPLES, PAGES = "samples", "pages"
LEFT_OUT = ("index.md", "changelog.md")
"""Pages that only link to others."""

_INCLUDE = re.compile(r"```\{literalinclude\} (\S+)\n((?::[\w-]+:.*\n)*)```")
_OPTION = re.compile(r":([\w-]+): *(.*)")


def sample(path: str) -> bytes:
    """Return the content of a file of ``etc/``.

    :param path: relative to ``etc/``.
    """
    return _at(SAMPLES, path).read_bytes()


def page_names() -> Iterator[str]:
    """Yield the names of all pages, ``cluster`` and ``client/producer`` for example, in order."""
    for folder in ("", "client"):
        for entry in sorted(_at(PAGES, folder).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".md") and entry.name not in LEFT_OUT:
                yield f"{folder}/{entry.name[:-3]}".lstrip("/")


def page(name: str) -> str:
    """Return the Markdown of a page, with the examples that it includes.

    :param name: one of :func:`page_names`.
    """
    folder = name.rpartition("/")[0]
    text = _at(PAGES, f"{name}.md").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: _included(folder, found[1], found[2]), text)


def title(name: str) -> str:
    """Return the heading of a page."""
    heading = re.search(r"^# (.*)$", _at(PAGES, f"{name}.md").read_text(encoding="utf-8"), re.MULTILINE)
    return "" if heading is None else heading[1]


def _included(folder: str, path: str, options: str) -> str:
    """Return the code block that stands for an inclusion."""
    chosen = dict(_OPTION.findall(options))
    place = _at(PAGES, folder)
    for part in path.split("/"):
        place = _at(PAGES, "") if part == ".." else place.joinpath(part)
    text = place.read_text(encoding="utf-8")
    start = chosen.get("start-at")
    if start is not None and start in text:
        text = text[text.rindex("\n", 0, text.index(start)) + 1 :]
    return f"```{chosen.get('language', '')}\n{text}```"


def _at(folder: str, path: str) -> Traversable:
    place = files("kafkatx").joinpath(folder)
    for part in filter(None, path.split("/")):
        place = place.joinpath(part)
    return place
