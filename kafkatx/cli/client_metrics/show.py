"""``kafkatx client-metrics show``: what clients have pushed."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, say, show_json

if TYPE_CHECKING:
    from kafkatx.blocking.diagnosis.client_metrics import PushedMetrics
    from kafkatx.wire.messages.describe_client_metrics import ClientMetric, MetricLabel, MetricsClient

COLUMNS = ("client id", "client instance", "metric", "labels", "value#")
CLIENTS = ("client id", "client instance", "software", "address", "principal", "broker#", "age s#", "values#")
PREFIX = "org.apache.kafka."


@click.command(
    "show",
    epilog="""\b
Examples:
  kafkatx client-metrics show
  kafkatx client-metrics show billing-1 --metrics org.apache.kafka.producer.
""",
)
@click.argument("client_id", metavar="[CLIENT-ID]", required=False)
@click.option(
    "--metrics", metavar="PREFIX,...", help="Prefixes of the names; org.apache.kafka. may be left out."
)
@listing_options
@cluster_options
def show_command(
    client_id: str | None, metrics: str | None, as_json: bool, header: bool, bootstrap: str, timeout: float
) -> None:
    """Show the clients that push metrics, or the recent values of one.

    A sum is what has come since the client began to push to a broker. Only brokers of kafkatx keep values.

    \b
    Into a pipe, a line for each client, tabs between fields:
      client-id client-instance software address principal broker age-s values
    or, with CLIENT-ID or --metrics, for each value:
      client-id client-instance metric labels value
    """
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics

    prefixes = None if metrics is None else [*_prefixes(metrics)]
    with connect(bootstrap, timeout) as cluster:
        found = ClientMetrics(cluster).values(client_id, prefixes)
    if any(one.truncated for one in found):
        say("there are more values: name a CLIENT-ID, or --metrics, to see all of some")
    if as_json:
        for one in found:
            for client in one.clients:
                show_json(described(one, client))
        return
    is_list = client_id is None and metrics is None
    columns = CLIENTS if is_list else COLUMNS
    rows = [*(_clients(found) if is_list else _values(found))]
    if interactive(sys.stdout) and rows:
        print_table(columns, rows)
    else:
        print_rows(rows, columns if header else ())
    if not rows:
        hint("no client has pushed such metrics: see `kafkatx client-metrics list`")


def _prefixes(text: str) -> Iterator[str]:
    """Yield each prefix, also with that of all of Kafka's names before it."""
    for one in text.split(","):
        yield from (one, PREFIX + one)


def _clients(found: Sequence[PushedMetrics]) -> Iterator[tuple[object, ...]]:
    for pushed in found:
        for one in pushed.clients:
            software = f"{one.software_name} {one.software_version}"
            age_s = round(one.age_ms / 1000, 1)
            yield (
                *(one.client_id, _id(one), software, one.address, one.principal),
                *(pushed.broker, age_s, len(one.metrics)),
            )


def _values(found: Sequence[PushedMetrics]) -> Iterator[tuple[object, ...]]:
    for pushed in found:
        for one in pushed.clients:
            for metric in sorted(one.metrics, key=lambda metric: metric.name):
                labels = ",".join(f"{label.name}={label.value}" for label in metric.labels)
                yield one.client_id, _id(one), metric.name.removeprefix(PREFIX), labels, _number(metric)


def _number(metric: ClientMetric) -> object:
    value = metric.value
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else round(value, 6)


def _id(one: MetricsClient) -> str:
    return base64.urlsafe_b64encode(one.client_instance_id.bytes).rstrip(b"=").decode()


def described(pushed: PushedMetrics, one: MetricsClient) -> dict[str, object]:
    """Return a client with its values as an object of JSON."""
    return {
        "broker": pushed.broker,
        "client_id": one.client_id,
        "client_instance_id": _id(one),
        "software_name": one.software_name,
        "software_version": one.software_version,
        "address": one.address,
        "principal": one.principal,
        "labels": _labels(one.labels),
        "push_interval_ms": one.push_interval_ms,
        "age_ms": one.age_ms,
        "metrics": [
            {
                "name": metric.name,
                "labels": _labels(metric.labels),
                "value": metric.value,
                "is_sum": metric.is_sum,
            }
            for metric in one.metrics
        ],
    }


def _labels(labels: Sequence[MetricLabel]) -> dict[str, str]:
    return {label.name: label.value for label in labels}
