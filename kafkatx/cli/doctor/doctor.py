"""``kafkatx doctor``: check a running cluster, or the settings and data of a broker, and say what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from kafkatx.cli.doctor.result import Level
from kafkatx.cli.options.cluster import cluster_options, command_config, connect
from kafkatx.cli.options.list_format import json_option
from kafkatx.cli.output.terminal import interactive, print_rows, show_folded, show_json

if TYPE_CHECKING:
    from kafkatx.cli.doctor.result import Finding

WORDS = {Level.OK: "ok", Level.HINT: "hint", Level.WRONG: "wrong"}
FAULTS = 1


@click.command(
    epilog="""\b
Examples:
  kafkatx doctor -b broker1:9092
  kafkatx doctor --config etc/server.properties
  kafkatx doctor --data ./data --all
"""
)
@click.option("--data", metavar="DIR", help="Check a data directory and this machine, without a broker.")
@click.option("--config", metavar="FILE", help="Check a settings file, its log dirs and this machine.")
@click.option("-a", "--all", "show_all", is_flag=True, help="Show what is in order, too.")
@json_option
@cluster_options
def doctor(
    data: str | None, config: str | None, show_all: bool, as_json: bool, bootstrap: str, timeout: float
) -> int:
    """Check what an operator would check first.

    A running cluster is asked through its brokers: partitions, addresses, certificates, log dirs, settings,
    clocks, versions, limits, groups and transactions. With --data or --config no broker is asked, and files
    and this machine are checked. Exit code 1: something is wrong; hints alone are 0.

    \b
    Into a pipe, a line for each finding, tabs between fields:
      level check sentence fix
    """
    from kafkatx.cli.doctor.examination import examine_cluster, examine_files

    if data is not None or config is not None:
        overrides = {} if data is None else {"log.dirs": data}
        return _print(examine_files(config, overrides), show_all, as_json)
    uses_tls = command_config().get("security.protocol", "").upper().endswith("SSL")
    with connect(bootstrap, timeout) as cluster:
        return _print(examine_cluster(cluster, uses_tls), show_all, as_json)


def _print(findings: Iterable[Finding], show_all: bool, as_json: bool) -> int:
    """Print findings as they come; return the exit code."""
    counts = dict.fromkeys(Level, 0)
    for one in _counted(findings, counts):
        if one.level is Level.OK and not show_all and not as_json:
            continue
        if as_json:
            row = {"check": one.check, "level": WORDS[one.level], "sentence": one.sentence, "fix": one.fix}
            show_json(row)
        elif interactive(sys.stdout):
            fix = f". {one.fix}" if one.fix else ""
            show_folded(f"{WORDS[one.level]}: {one.check}: {one.sentence}{fix}")
        else:
            print_rows([(WORDS[one.level], one.check, one.sentence, one.fix)])
    if interactive(sys.stdout) and not as_json:
        show_folded(f"{counts[Level.WRONG]} wrong, {counts[Level.HINT]} hints, {counts[Level.OK]} in order")
    return FAULTS if counts[Level.WRONG] else 0


def _counted(findings: Iterable[Finding], counts: dict[Level, int]) -> Iterator[Finding]:
    for one in findings:
        counts[one.level] += 1
        yield one
