"""The forms in which ``kafkatx configs`` shows settings and quotas: tables, lines or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.configs import ConfigEntry, Source
    from kafkatx.clientcore.admin.quotas import EntityQuotas

HIDDEN = "(hidden)"
"""Shown for the value of a sensitive setting, which brokers keep secret."""


def print_entries(entries: Iterable[ConfigEntry], as_json: bool, header: bool) -> None:
    """Print settings: name, value, and where the value comes from."""
    if as_json:
        for entry in entries:
            show_json(_json_entry(entry))
        return
    columns = ["setting", "value", "set for"]
    rows = [(entry.name, _value(entry), _words(entry.source)) for entry in entries]
    if not interactive(sys.stdout):
        print_rows(rows, columns if header else ())
    elif rows:
        print_table(columns, rows)
    else:
        show("nothing is set: all settings have their defaults")


def _value(entry: ConfigEntry) -> str:
    return HIDDEN if entry.value is None and entry.sensitive else entry.value or ""


def _words(source: Source) -> str:
    """Return where a value comes from: ``topic``, ``broker``, ``broker defaults``, ``static`` (its file)."""
    return source.name.lower().replace("_", " ")


def _json_entry(entry: ConfigEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": _words(entry.source),
        "type": entry.type.name.lower(),
        "read_only": entry.read_only,
        "sensitive": entry.sensitive,
        "synonyms": [{"name": s.name, "value": s.value, "source": _words(s.source)} for s in entry.synonyms],
    }


def print_quotas(found: Iterable[EntityQuotas], names: tuple[str, ...], as_json: bool, header: bool) -> None:
    """Print quotas: name, value and owner; only those called *names*, if there are any."""
    from kafkatx.clientcore.admin.quotas import entity_text

    quotas = [
        (name, value, one.entity)
        for one in found
        for name, value in sorted(one.values.items())
        if not names or name in names
    ]
    if as_json:
        for name, value, entity in quotas:
            show_json({"name": name, "value": value, "entity": entity})
        return
    columns = ["quota", "value#", "set for"]
    rows = [(name, f"{value:.15g}", entity_text(entity)) for name, value, entity in quotas]
    if not interactive(sys.stdout):
        print_rows(rows, columns if header else ())
    elif rows:
        print_table(columns, rows)
    else:
        show("there are no quotas")
