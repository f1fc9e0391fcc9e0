"""``kafkatx mirror run``: copy topics of other clusters to a target, until a signal ends it.

Twisted is imported only when the settings have been checked.
"""

from __future__ import annotations

import sys

import click

from kafkatx.cli.options.cluster import pairs
from kafkatx.cli.output.terminal import interactive, say, show_json
from kafkatx.errors import KafkaTXError

FAILED = 1


@click.command(
    epilog="""\b
Examples:
  kafkatx mirror run --config mirror.properties
  kafkatx mirror run --config mirror.properties --set topics=orders.* --exit
"""
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(),
    required=True,
    help="Settings file: sources, target, topics; etc/mirror.properties is an example.",
)
@click.option("--set", "sets", metavar="NAME=VALUE", multiple=True, help="A setting; goes before the file.")
@click.option("--exit", "until_end", is_flag=True, help="End when all is copied that was there at the start.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the counts at the end as JSON to standard output."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warn", "error"]),
    default="info",
    show_default=True,
    help="Lowest level to log.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of a line of the log, which goes to standard error.",
)
def run(
    config: str, sets: tuple[str, ...], until_end: bool, as_json: bool, log_level: str, log_format: str
) -> int:
    """Copy topics of other clusters to a target.

    Topics can be renamed and filtered, and several clusters can be copied to one. Each copy has its origin
    in the header kafkatx.mirror. The progress is in the target's log itself: a mirror that was killed goes on
    where that ends, without a record lost or doubled. SIGINT and SIGTERM end it in order. Exit code 1: it
    could not start, or partitions have failed.
    """
    from kafkatx.mirror.settings import MirrorSettings

    settings = MirrorSettings.read(config, pairs("--set", sets))
    from kafkatx.daemon.log_output import begin
    from kafkatx.mirror.process import run as run_process

    begin(log_level, log_format)
    outcome = run_process(settings, until_end)
    if outcome.failure is not None:
        raise KafkaTXError(outcome.failure)
    if as_json:
        from attrs import asdict

        show_json({**asdict(outcome.totals), "failures": outcome.failed}, compact=not interactive(sys.stdout))
    else:
        say(f"kafkatx: {outcome.totals.line()}")
    for line in outcome.failed:
        say(f"kafkatx: {line}")
    return FAILED if outcome.totals.failed else 0
