"""The whole names of settings of links: their rows, and what is wrong with others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kafkatx.config.table.mirror.rows import LINKS, NAME, PREFIX, ROWS
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError


def link_row(name: str) -> Setting[object] | None:
    """Return the row of a link's setting by its whole name; None if there is no such setting."""
    if not name.startswith(PREFIX):
        return None
    link, _, rest = name.removeprefix(PREFIX).partition(".")
    if rest not in ROWS or not NAME.fullmatch(link):
        return None
    return attrs.evolve(ROWS[rest], name=name)


def link_rows(names: Iterable[str]) -> list[Setting[object]]:
    """Return the rows of those names that are settings of links, in the order of links and the table."""
    order = {name: number for number, name in enumerate(ROWS)}
    rows = [row for row in map(link_row, names) if row is not None]
    return sorted(rows, key=lambda row: (_link(row), order[row.name.split(".", 2)[2]]))


def _link(row: Setting[object]) -> str:
    return row.name.split(".", 2)[1]


def check_link_setting(name: str) -> None:
    """Check a name that begins as a link's settings do.

    :raises SettingError: there is no such setting; the nearest one is suggested.
    """
    if name == LINKS.name or link_row(name) is not None:
        return
    import difflib  # only for an error message

    link, dot, rest = name.removeprefix(PREFIX).partition(".")
    if not dot:
        raise SettingError(
            f"{name}: unknown setting; {LINKS.name} names the links, {PREFIX}NAME.topics is a setting of one"
        )
    if not NAME.fullmatch(link):
        raise SettingError(
            f"{name[:200]}: {link[:100]!r} cannot be the name of a link: it has 1 to 64 letters, digits, "
            "underscores and hyphens"
        )
    near = difflib.get_close_matches(rest, ROWS, 1)
    advice = (
        f"did you mean {PREFIX}{link}.{near[0]}?" if near else "see `kafkatx docs settings` for all settings"
    )
    raise SettingError(f"{name}: a link has no such setting; {advice}")


def incomplete_links(texts: Mapping[str, str]) -> list[str]:
    """Return warnings about links without a source, and about settings of links that do not exist.

    :param texts: settings whose names have been checked.
    """
    links = LINKS.parse(texts.get(LINKS.name, ""))
    warnings = [
        f"{LINKS.name}={texts[LINKS.name]}: {servers} is not set, so the link {link} does nothing"
        for link in links
        if not texts.get(servers := f"{PREFIX}{link}.bootstrap.servers", "").strip()
    ]
    unused = set(map(_link, link_rows(texts))).difference(links)
    warnings += [
        f"{PREFIX}{link}.*: not used unless {LINKS.name} has {link}, here or as a dynamic setting"
        for link in sorted(unused)
    ]
    return warnings
