"""The client matrix.

``python -m tests.clients [OPTION...] [NAME...]``

Each NAME chooses the rows whose name begins so. The exit status is 1 if a feature failed. ``--write`` keeps
the results beside this module and writes ``docs/clients.md`` anew from all that are kept.

With ``--brokers 3`` topics have three copies, and :mod:`tests.clients.leader_dies` is tried, too. ``--only
features`` and ``--only leader`` leave the other out. ``--only security`` tries :mod:`tests.clients.security`
alone: logins, and for ``--minutes`` logins again. ``--feature NAME`` tries only that one; it may be repeated.
``--zookeeper`` starts a ZooKeeper that keeps the state of the clusters whose leaders die.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafkatx.testing.zookeeper import ZooKeeperServer
from tests.clients.brokers import COPIES
from tests.clients.features import FAIL, FEATURES, MEMBERS, PASS, Outcome
from tests.clients.leader_dies import BROKERS, LOCAL, ZOOKEEPER, Death, try_row
from tests.clients.leader_rows import ROWS, Row
from tests.clients.matrix import CLIENTS, Client
from tests.clients.page import CLUSTER, RESULTS, keep, keep_deaths, table, write_page
from tests.clients.runner import try_client
from tests.clients.security import results as security
from tests.clients.security.rows import ROWS as SECURITY_ROWS
from tests.clients.security.run import try_row as try_login
from tests.ports import free_port


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.clients")
    parser.add_argument("names", nargs="*", help="rows whose name begins so; without one, all")
    parser.add_argument("--broker", choices=("kafkatx", "apache"), default="kafkatx")
    parser.add_argument("--brokers", type=int, default=1, help="brokers of a cluster of kafkatx")
    parser.add_argument("--only", choices=("features", "leader", "security"), help="what is tried")
    parser.add_argument(
        "--minutes", type=float, default=0.5, help="how long clients produce and log in again"
    )
    parser.add_argument(
        "--feature", action="append", choices=tuple(FEATURES), help="a feature to be tried; without one, all"
    )
    parser.add_argument("--zookeeper", action="store_true", help="leaders die in clusters with a ZooKeeper")
    parser.add_argument("--jobs", type=int, default=1, help="clients at a time")
    parser.add_argument("--write", action="store_true", help="keep the results and write docs/clients.md")
    given = parser.parse_args()
    if given.brokers > 1 and given.broker != "kafkatx":
        parser.error("--brokers is for kafkatx")
    if given.only == "leader" and given.brokers != BROKERS:
        parser.error(f"--only leader takes --brokers {BROKERS}")
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


def _chosen(name: str, names: list[str]) -> bool:
    return not names or any(name.startswith(one) for one in names)


def main() -> int:
    """Run the scenarios, print the table, return the exit status."""
    asked = _arguments()
    if asked.brokers >= COPIES:
        os.environ["KAFKATX_COPIES"] = str(COPIES)
    good = _security(asked) if asked.only == "security" else asked.only == "leader" or _features(asked)
    if asked.brokers == BROKERS and asked.only in (None, "leader"):
        good = _leader(asked) and good
    if asked.write:
        write_page()
    return 0 if good else 1


def _security(asked: argparse.Namespace) -> bool:
    """Try logins; return True if no client failed."""
    chosen = [row for row in SECURITY_ROWS if _chosen(row.name, asked.names)]
    failed = False
    with ThreadPoolExecutor(asked.jobs) as pool:
        outcomes = pool.map(lambda row: try_login(row, 60 * asked.minutes), chosen)
        for row, outcome in zip(chosen, outcomes, strict=True):
            told = "; ".join(f"{name} {' '.join(found).strip()}" for name, found in outcome.results.items())
            sys.stdout.write(f"{row.name} {outcome.version}: {told}\n")
            if outcome.failed:
                failed = True
                sys.stdout.write("".join(f"    broker: {line}\n" for line in outcome.log.splitlines()[-15:]))
            sys.stdout.flush()
            if asked.write:
                security.keep(RESULTS, {row.name: outcome})
    return not failed


def _leader(asked: argparse.Namespace) -> bool:
    """Run the rows in which a leader dies; return True if no client failed."""
    deaths: dict[str, Death] = {}
    chosen = [row for row in ROWS if _chosen(row.name, asked.names)]
    begun_s = time.monotonic()
    with ExitStack() as cleanup:
        zookeeper = cleanup.enter_context(_zookeeper()) if asked.zookeeper else None
        pool = cleanup.enter_context(ThreadPoolExecutor(asked.jobs))

        def run(row: Row) -> Death:
            return try_row(row, zookeeper=zookeeper and f"{zookeeper}/{ROWS.index(row)}")

        for row, death in zip(chosen, pool.map(run, chosen), strict=True):
            deaths[row.name] = death
            sys.stdout.write(
                f"a leader dies: {row.name} {death.version}: {' '.join(death.result)}; "
                f"gap {death.gap_s:.1f} s, run {death.took_s:.0f} s\n"
            )
            if death.result.result == FAIL:
                sys.stdout.write("".join(f"    {line}\n" for line in death.log.splitlines()[-60:]))
            sys.stdout.flush()
            if asked.write:
                keep_deaths(ZOOKEEPER if asked.zookeeper else LOCAL, {row.name: death})
    sys.stdout.write(f"{len(chosen)} rows took {(time.monotonic() - begun_s) / 60:.0f} minutes\n")
    return all(death.result.result != FAIL for death in deaths.values())


@contextmanager
def _zookeeper() -> Iterator[str]:
    """Start a ZooKeeper; give its address."""
    with tempfile.TemporaryDirectory(prefix="kafkatx-clients-zookeeper-") as folder:
        server = ZooKeeperServer(Path(folder), free_port())
        server.start()
        server.wait()
        try:
            yield f"127.0.0.1:{server.port}"
        finally:
            server.stop()


def _features(asked: argparse.Namespace) -> bool:
    """Try the features; return True if none failed."""
    chosen = [client for client in CLIENTS if _chosen(client.name, asked.names)]
    features = asked.feature or list(FEATURES)
    outcomes: dict[str, Outcome] = {}
    with ThreadPoolExecutor(asked.jobs) as pool:
        for client, outcome in zip(
            chosen,
            pool.map(lambda client: try_client(client, asked.broker, asked.brokers, features), chosen),
            strict=True,
        ):
            outcomes[client.name] = outcome
            _tell(client, outcome)
    sys.stdout.write("\n" + table({name: outcome.results for name, outcome in outcomes.items()}))
    if asked.write and asked.brokers in (1, BROKERS):
        keep(CLUSTER if asked.brokers == BROKERS else asked.broker, outcomes)
    return not any(outcome.failed for outcome in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
