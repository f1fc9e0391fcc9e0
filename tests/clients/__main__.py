"""The client matrix.

``python -m tests.clients [--broker kafkatx|apache] [--brokers N] [--jobs N] [--write] [NAME...]``

Each NAME chooses the rows whose name begins so. The exit status is 1 if a feature failed. ``--write`` keeps
the results beside this module and writes ``docs/clients.md`` anew from all that are kept.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.clients.features import FAIL, MEMBERS, PASS
from tests.clients.matrix import CLIENTS, Client
from tests.clients.page import keep, table, write_page
from tests.clients.runner import Outcome, try_client


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.clients")
    parser.add_argument("names", nargs="*", help="rows whose name begins so; without one, all")
    parser.add_argument("--broker", choices=("kafkatx", "apache"), default="kafkatx")
    parser.add_argument("--brokers", type=int, default=1, help="brokers of a cluster of kafkatx")
    parser.add_argument("--jobs", type=int, default=1, help="clients at a time")
    parser.add_argument("--write", action="store_true", help="keep the results and write docs/clients.md")
    given = parser.parse_args()
    if given.brokers > 1 and (given.write or given.broker != "kafkatx"):
        parser.error("--brokers is for kafkatx, and its results are not kept")
    return given


def _tell(client: Client, outcome: Outcome) -> None:
    """Print what failed, with the broker's side of it, and how long groups took."""
    sys.stdout.write(f"{client.name} {outcome.version}: {len(outcome.failed)} failed\n")
    for feature, (result, detail) in outcome.results.items():
        if result == FAIL or (feature in MEMBERS and result == PASS):
            sys.stdout.write(f"  {feature}: {detail}\n")
    if outcome.failed:
        lines = outcome.log.splitlines()[-15:]
        sys.stdout.write("".join(f"    broker: {line}\n" for line in lines))
    sys.stdout.flush()


def main() -> int:
    """Run the scenarios, print the table, return the exit status."""
    asked = _arguments()
    chosen = [c for c in CLIENTS if not asked.names or any(c.name.startswith(name) for name in asked.names)]
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(asked.jobs) as pool:
        for client, outcome in zip(
            chosen,
            pool.map(lambda client: try_client(client, asked.broker, asked.brokers), chosen),
            strict=True,
        ):
            outcomes[client.name] = outcome
            _tell(client, outcome)
    sys.stdout.write("\n" + table({name: outcome.results for name, outcome in outcomes.items()}))
    if asked.write:
        keep(asked.broker, outcomes)
        write_page()
    return 1 if any(outcome.failed for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
