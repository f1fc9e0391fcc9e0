"""The results of clients that log in, as they are kept, and their section of ``docs/clients.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from tests.clients.features import FAIL, NO_TOOLCHAIN, NOT_OFFERED, NOT_TRIED, PASS, Outcome, Result
from tests.clients.security.rows import ROWS
from tests.clients.security.run import COLUMNS
from tests.clients.tables import lines

_FILE = "security.json"

_HEAD = """
## TLS and logins

`make clients ONLY=security` runs these: each client produces records and reads them as a member of a group
(Spark: as a batch), over TLS, by each mechanism of SASL, or with a client certificate alone (mTLS). Then it
produces 20 records in a second for longer than a session lasts, `MINUTES=10` say: in "logs in again" by
SCRAM-SHA-512 at a broker with `connections.max.reauth.ms=15000`, in "with new tokens" by OAUTHBEARER with
tokens of 30 seconds. It passes when each record is acknowledged and in the topic, and the client has reported
no error.

"""


def load(folder: str) -> dict[str, Outcome]:
    """Return the results that are kept; none if there are none."""
    path = os.path.join(folder, _FILE)
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {
            name: Outcome(
                row["version"], {column: Result(*found) for column, found in row["results"].items()}
            )
            for name, row in json.load(file).items()
        }


def keep(folder: str, outcomes: Mapping[str, Outcome]) -> None:
    """Keep results beside those of other clients; a client without its toolchain changes nothing."""
    kept = load(folder)
    for name, outcome in outcomes.items():
        older = kept.get(name, Outcome())
        found = {
            column: result
            for column, result in outcome.results.items()
            if column not in older.results or result.result not in (NO_TOOLCHAIN, NOT_TRIED)
        }
        kept[name] = Outcome(outcome.version or older.version, {**older.results, **found})
    rows = {
        row.name: {
            "version": kept[row.name].version,
            "results": {
                column: [result, detail.partition("\n")[0]]
                for column, (result, detail) in kept[row.name].results.items()
            },
        }
        for row in ROWS
        if row.name in kept
    }
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, _FILE), "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def section(kept: Mapping[str, Outcome]) -> str:
    """Return the section of the page; empty if nothing is kept."""
    if not kept:
        return ""
    rows = [
        [name, outcome.version or "-", *(outcome.results[column].result for column in COLUMNS)]
        for name, outcome in kept.items()
    ]
    return _HEAD + lines(["client", "version", *COLUMNS], rows) + "\n" + _reasons(kept)


def _reasons(kept: Mapping[str, Outcome]) -> str:
    """Return a line for each reason, with the columns of a client that it is the reason of."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, outcome in kept.items():
        for column, (result, detail) in outcome.results.items():
            if detail and result in (PASS, FAIL, NOT_OFFERED):
                reasons.setdefault((name, f"{result}: {detail}"), []).append(column)
    return "".join(f"* {name}: {', '.join(columns)}: {why}\n" for (name, why), columns in reasons.items())
