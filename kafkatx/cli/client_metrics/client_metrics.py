"""``kafkatx client-metrics``: list, describe, alter, delete subscriptions; show what clients push."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from kafkatx.cli.client_metrics.show import show_command
from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.kafka_names import Commands, names_argument
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, say, show_json
from kafkatx.errors import KafkaTXError

COLUMNS = ("subscription", "metrics", "interval ms#", "match")
CONFIGS = ("metrics", "interval.ms", "match")
NONE = "-"


@click.group(
    "client-metrics",
    cls=Commands,
    actions={"--list": "list", "--describe": "describe", "--alter": "alter", "--delete": "delete"},
    epilog="""\b
Examples:
  kafkatx client-metrics alter all --metrics '*' --interval 60000
  kafkatx client-metrics alter web --metrics org.apache.kafka.producer. --match 'client_id=web-.*'
  kafkatx client-metrics show
  kafkatx client-metrics delete all
""",
)
@group_options()
def client_metrics() -> None:
    """Choose the metrics that clients push, and show them."""


@client_metrics.command("list", epilog="Example: kafkatx client-metrics list")
@cluster_options
def list_command(bootstrap: str, timeout: float) -> None:
    """List the names of subscriptions, one a line."""
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics

    with connect(bootstrap, timeout) as cluster:
        names = ClientMetrics(cluster).subscriptions()
    print_rows([(name,) for name in names])
    if not names:
        hint("there are no subscriptions: clients push nothing")


@client_metrics.command(epilog="Example: kafkatx client-metrics describe all")
@names_argument("name", "--name", required=False, metavar="[NAME]")
@listing_options
@cluster_options
def describe(name: str | None, as_json: bool, header: bool, bootstrap: str, timeout: float) -> None:
    """Describe a subscription, or all of them.

    \b
    Into a pipe, a line for each, tabs between fields (- stands for none):
      subscription metrics interval-ms match
    """
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics

    with connect(bootstrap, timeout) as cluster:
        subscriptions = ClientMetrics(cluster)
        names = subscriptions.subscriptions()
        if name is not None:
            if name not in names:
                raise KafkaTXError(f"there is no subscription {name!r}")
            names = [name]
        rows = []
        for one in names:
            found = subscriptions.describe(one)
            texts = (found[config].value if config in found else None for config in CONFIGS)
            rows.append((one, *(text or NONE for text in texts)))
    _print(rows, as_json, header)
    if not rows:
        hint("there are no subscriptions: clients push nothing")


def _print(rows: Iterable[Sequence[str]], as_json: bool, header: bool) -> None:
    if as_json:
        for row in rows:
            show_json(dict(zip(("name", *CONFIGS), row, strict=True)))
    elif interactive(sys.stdout):
        print_table(COLUMNS, rows)
    else:
        print_rows(rows, COLUMNS if header else ())


@client_metrics.command(
    epilog="""\b
Examples:
  kafkatx client-metrics alter all --metrics '*'
  kafkatx client-metrics alter slow --metrics org.apache.kafka.consumer. --interval 10000 \\
      --match 'client_software_name=librdkafka,client_id=billing-[0-9]+'
"""
)
@names_argument("name", "--name", required=False, metavar="[NAME]")
@click.option("--generate-name", is_flag=True, help="Make a name, which is printed, for a new subscription.")
@click.option(
    "--metrics",
    metavar="PREFIX,...",
    help="Prefixes of the names of metrics; '*' for all, '' for none.",
)
@click.option(
    "--interval",
    "interval_ms",
    metavar="MS",
    help="Milliseconds between two pushes of a client, 100 to 3600000.",
)
@click.option(
    "--match",
    metavar="PARAMETER=EXPRESSION,...",
    help="Clients that push: client_id, client_instance_id, client_software_name, client_software_version, "
    "client_source_address, client_source_port; all of them have to match. '' for all clients.",
)
@cluster_options
def alter(
    name: str | None,
    generate_name: bool,
    metrics: str | None,
    interval_ms: str | None,
    match: str | None,
    bootstrap: str,
    timeout: float,
) -> None:
    """Make or change a subscription; what is not given stays as it is."""
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics

    if (name is None) != generate_name:
        raise click.UsageError("give NAME, or --generate-name")
    given = {"metrics": metrics, "interval.ms": interval_ms, "match": match}
    values = {config: value for config, value in given.items() if value is not None}
    if not values:
        raise click.UsageError("give --metrics, --interval or --match")
    name = _generated() if name is None else name
    with connect(bootstrap, timeout) as cluster:
        ClientMetrics(cluster).alter(name, values)
    if generate_name:
        print_rows([(name,)])
    say(f"subscription {name} was changed; clients see it with their next push, or when they connect")


def _generated() -> str:
    from uuid import uuid4

    return str(uuid4())


@client_metrics.command(epilog="Example: kafkatx client-metrics delete all")
@names_argument("name", "--name", required=True, metavar="NAME")
@cluster_options
def delete(name: str, bootstrap: str, timeout: float) -> None:
    """Delete a subscription."""
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics

    with connect(bootstrap, timeout) as cluster:
        if not ClientMetrics(cluster).delete(name):
            raise KafkaTXError(f"there is no subscription {name!r}")
    say(f"subscription {name} was deleted")


client_metrics.add_command(show_command)
