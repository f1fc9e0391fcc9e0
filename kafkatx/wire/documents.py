"""Generator of the page of APIs and versions: ``python -m kafkatx.wire.documents docs/protocol.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from kafkatx.wire.api import APIS, Api

_HEAD = """\
# Protocol

The requests that kafkatx answers and their versions. A client learns the same from the ApiVersions reply:
both come from one table. "Flexible" is the first version with compact strings and tagged fields (KIP-482).
A request with a star is kafkatx's own: ApiVersions does not list it.

| key | request | versions | flexible |
|---|---|---|---|
"""

_FOOT = """
An unknown key or version closes the connection, as in Apache Kafka; only an ApiVersions request of a newer
version is answered, by version 0 with error 35 and the versions that are known.

This page is generated: `make documents` writes it.
"""


def protocol_page(apis: Iterable[Api]) -> str:
    """Return the page in Markdown, with one row per API, by key."""
    rows = [_row(api) for api in sorted(apis, key=lambda api: api.key)]
    return _HEAD + "".join(rows) + _FOOT


def _row(api: Api) -> str:
    lowest, highest = api.versions[0], api.versions[-1]
    versions = str(lowest) if lowest == highest else f"{lowest}-{highest}"
    flexible = str(api.flexible_since) if api.flexible_since <= highest else "-"
    return f"| {api.key} | {api.name}{'' if api.listed else '*'} | {versions} | {flexible} |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(protocol_page(APIS.values()), encoding="utf-8")
