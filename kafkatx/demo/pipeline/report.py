"""The end of the demonstration: the delays of the records, and who has read what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafkatx.demo.pipeline.delays import PERCENTILES, Delays
from kafkatx.demo.pipeline.deployment import READER, Deployment
from kafkatx.demo.pipeline.programs import Program
from kafkatx.demo.pipeline.warehouse import Warehouse

READ_IN_DC1 = "read by a service in dc1"
READ_IN_DC2 = "read in dc2, behind the mirror"
IN_TABLE = "committed in the warehouse"
IN_WARM_TABLE = "the same, without the first commit"
"""Spark starts its Python workers in the first one, and compiles what it runs."""


def stage_delays(deployment: Deployment, warehouse: Warehouse) -> dict[str, Delays]:
    """Return the delays of all records by stage; the readers must have ended."""
    reports = {service.name: last_report(service) for service in deployment.services}
    live = [report["delays_ms"] for name, report in reports.items() if name != READER]
    return {
        READ_IN_DC1: Delays.merged(live),
        READ_IN_DC2: Delays.merged([reports[READER]["delays_ms"]]),
        IN_TABLE: warehouse.delays(),
        IN_WARM_TABLE: warehouse.delays(first=1),
    }


def last_report(service: Program) -> Mapping[str, Any]:
    """Return what a service has told at its end; nothing read if it was killed."""
    nothing: dict[str, Any] = {"records": 0, "partitions": [], "delays_ms": {}}
    for report in service.reports():
        nothing |= report
    return nothing


def print_members(console: Console, deployment: Deployment) -> None:
    """Print what each service has read."""
    for service in deployment.services:
        if service.name != READER:
            report = last_report(service)
            partitions = ", ".join(report["partitions"]) or "nothing"
            console.print(f"{service.name} read {report['records']:,} records: {partitions}", soft_wrap=True)


def print_end(console: Console, status: int, kept: str | None) -> None:
    """Print what the audit has found, and where the files are."""
    found = (
        "every record has passed all tiers" if not status else "the audit has found differences, see above"
    )
    console.print(f"\n{found}: exit status {status}", style="bold", soft_wrap=True)
    if kept is not None:
        console.print(f"logs, data and the table stay in {escape(kept)}", soft_wrap=True)


def delay_table(delays: Mapping[str, Delays]) -> Table:
    """Return a table with a row per stage."""
    table = Table(title="delay since the front end produced the record, in seconds", title_justify="left")
    table.add_column("")
    table.add_column("records", justify="right")
    for percent in PERCENTILES:
        table.add_column("median" if percent == 50 else f"{percent:g}%", justify="right")
    table.add_column("largest", justify="right")
    for stage, found in delays.items():
        numbers = [found.percentile(percent) for percent in (*PERCENTILES, 100.0)]
        table.add_row(
            stage, f"{found.count:,}", *("" if ms is None else f"{ms / 1000:.2f}" for ms in numbers)
        )
    return table
