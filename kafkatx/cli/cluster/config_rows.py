"""How ``kafkatx configs`` shows settings and quotas: tables for a person, lines or JSON for a program."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.configs import ConfigEntry, Source
    from kafkatx.clientcore.admin.quotas import EntityQuotas

HIDDEN = "(hidden)"
"""What is shown for the value of a sensitive setting, which brokers do not tell."""


def print_entries(entries: Iterable[ConfigEntry], as_json: bool) -> None:
    """Settings: name, value, and whose it is."""
    if as_json:
        for entry in entries:
            show_json(_json_entry(entry))
        return
    rows = [(entry.name, _value(entry), _words(entry.source)) for entry in entries]
    if not interactive(sys.stdout):
        print_rows(rows)
    elif rows:
        print_table(["setting", "value", "set for"], rows)
    else:
        show("nothing is set: all settings have their defaults")


def _value(entry: ConfigEntry) -> str:
    return HIDDEN if entry.value is None and entry.sensitive else entry.value or ""


def _words(source: Source) -> str:
    """Whose setting it is: ``topic``, ``broker``, ``broker defaults``, ``static`` (the broker's file), ..."""
    return source.name.lower().replace("_", " ")


def _json_entry(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": _words(entry.source),
        "type": entry.type.name.lower(),
        "read_only": entry.read_only,
        "sensitive": entry.sensitive,
        "synonyms": [{"name": s.name, "value": s.value, "source": _words(s.source)} for s in entry.synonyms],
    }


def print_quotas(found: Iterable[EntityQuotas], names: tuple[str, ...], as_json: bool) -> None:
    """Quotas: name, value, and whose it is; only those called *names*, if there are any."""
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
    rows = [(name, f"{value:.15g}", entity_text(entity)) for name, value, entity in quotas]
    if not interactive(sys.stdout):
        print_rows(rows)
    elif rows:
        print_table(["quota", "value#", "set for"], rows)
    else:
        show("there are no quotas")
