"""The output of ``kafkatx schemas``: rows, JSON, and the text of schemas in lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, show_json

if TYPE_CHECKING:
    from kafkatx.clientcore.registry.replies import RegisteredSchema
    from kafkatx.schemas.types import Schema

COLUMNS = ("subject", "version#", "id#", "type!")


def print_subjects(found: Iterable[RegisteredSchema], as_json: bool, header: bool) -> None:
    """Print the latest versions of subjects."""
    if as_json:
        for each in found:
            fields = schema_fields(each)
            show_json({name: fields[name] for name in ("subject", "version", "id", "type")})
        return
    rows = [(each.subject, each.version, each.id, each.schema.type.value) for each in found]
    if interactive(sys.stdout):
        if rows:
            print_table(COLUMNS, rows)
        else:
            hint("no subjects")
    else:
        print_rows(rows, COLUMNS if header else ())


def schema_fields(found: RegisteredSchema) -> dict[str, object]:
    """Return a schema as an object of JSON."""
    return {
        "subject": found.subject or None,
        "version": found.version or None,
        "id": found.id,
        "type": found.schema.type.value,
        "schema": found.schema.text,
        "references": [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in found.schema.references
        ],
    }


def pretty(schema: Schema) -> str:
    """Return the text of a schema in lines; text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text
