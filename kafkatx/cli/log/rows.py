"""The forms in which ``kafkatx log dump`` prints rows: tables for a person, lines or JSON for programs.

A plain line is the row's kind and ``name=value`` pairs with tabs between them; fields without a value are
left out. Bytes are ``"text"`` with JSON's escapes if they are UTF-8, else ``x'00ff'``; a null is ``null``.

A JSON line is an object with ``kind`` and the row's fields. Bytes that are not UTF-8 are base64 under another
name: ``value_base64`` for ``value``. Headers are a list of objects with ``name`` and ``value``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from itertools import groupby, islice
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import json_bytes, json_escaped, print_table, show, show_json
from kafkatx.names import printable

if TYPE_CHECKING:
    from kafkatx.log.inspect.rows import BatchRow, Row

ROWS_AT_ONCE = 500
"""Largest number of rows in memory: a long table is drawn in parts."""


def print_json(rows: Iterable[Row], kinds: dict[type, str]) -> None:
    """Print an object for each row."""
    for row in rows:
        show_json(_as_json(row, kinds[type(row)]), compact=True)


def _as_json(row: Row, kind: str) -> dict[str, object]:
    fields: dict[str, object] = {"kind": kind}
    for name, value in row._asdict().items():
        if name == "headers":
            fields[name] = [{"name": header} | json_bytes("value", data) for header, data in value]
        elif isinstance(value, bytes):
            fields |= json_bytes(name, value)
        else:
            fields[name] = value
    return fields


def print_lines(rows: Iterable[Row], kinds: dict[type, str]) -> None:
    """Print a line for each row."""
    out = sys.stdout
    for row in rows:
        pairs = (f"{name}={printable(text)}" for name, text in _texts(row).items() if text)
        out.write("\t".join((kinds[type(row)], *pairs)) + "\n")


def _texts(row: Row) -> dict[str, str]:
    """Return a row's fields as text; a missing one is empty."""
    return {name: _text(name, value) for name, value in row._asdict().items()}


def _text(name: str, value: object) -> str:
    if name == "headers" and isinstance(value, list):
        return ",".join(f"{header}={bytes_text(data)}" for header, data in value)
    if isinstance(value, bytes) or (value is None and name in ("key", "value")):
        return bytes_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def bytes_text(data: bytes | None) -> str:
    """Return bytes on one line: quoted text, or hexadecimal."""
    if data is None:
        return "null"
    try:
        return json_escaped(json.dumps(data.decode(), ensure_ascii=False))
    except UnicodeDecodeError:
        return f"x'{data.hex()}'"


def print_tables(rows: Iterable[Row], kinds: dict[type, str]) -> None:
    """Draw a table for each run of rows of one kind and file, in parts if it is long."""
    from kafkatx.log.inspect.rows import BatchRow

    for (_, file), run in groupby(rows, key=_kind_and_file):
        show(file)
        while part := list(islice(run, ROWS_AT_ONCE)):
            table = [_batch(row) if isinstance(row, BatchRow) else _texts(row) for row in part]
            shown = [name for name in table[0] if name != "file" and any(row[name] for row in table)]
            print_table([_heading(name) for name in shown], [[row[name] for name in shown] for row in table])


def _kind_and_file(row: Row) -> tuple[type, str]:
    return type(row), row.file


def _batch(row: BatchRow) -> dict[str, str]:
    """Return a BatchRow in fewer columns, for a terminal."""
    producer = f"{row.producer_id}/{row.producer_epoch}/{row.base_sequence}"
    flags = {"LogAppendTime": row.timestamp_type == "LogAppendTime"}
    flags |= {"transactional": row.transactional, "control": row.control}
    return {
        "position": str(row.position),
        "size": str(row.size),
        "offsets": f"{row.base_offset}-{row.last_offset}",
        "count": _text("count", row.count),
        "magic": str(row.magic),
        "codec": row.codec,
        "newest": _text("newest", row.max_timestamp),
        "epoch": _text("epoch", row.leader_epoch),
        "producer": producer if row.magic > 1 and (row.producer_id or 0) >= 0 else "",
        "flags": " ".join(name for name, is_set in flags.items() if is_set),
        "crc": "ok" if row.crc_ok else "WRONG",
    }


_WORDS = frozenset({"codec", "flags", "crc", "key", "value", "headers", "problem", "topic", "name"})


def _heading(name: str) -> str:
    """Return the heading of a column: with ``#`` for numbers, ``!`` for text that is not wrapped."""
    words = name.replace("_", " ")
    return words if name in _WORDS else words + ("!" if name == "producer" else "#")


def printer(as_json: bool, at_terminal: bool) -> Callable[[Iterable[Row], dict[type, str]], None]:
    """Return the function that prints rows: JSON, tables or lines."""
    if as_json:
        return print_json
    return print_tables if at_terminal else print_lines
