"""The panels of the dashboard: rows of titles and queries. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.metrics.table import process as p
from kafkatx.broker.metrics.table.row import Metric

BROKERS = 'instance=~"$broker"'
TOPICS = f'{BROKERS},topic=~"$topic"'
GROUPS = f'{BROKERS},consumergroup=~"$group"'
GROUP_TOPICS = f'{GROUPS},topic=~"$topic"'


@attrs.frozen
class Panel:
    """A panel of lines, or of one number if it is a *stat*.

    :ivar queries: PromQL, and the name of its lines.
    :ivar unit: as Grafana names it.
    """

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    stat: bool = False
    text: str = ""


def total(metric: Metric, chosen: str = BROKERS) -> str:
    """Return the sum of a gauge."""
    return f"sum({metric.name}{{{chosen}}})"


def rate(metric: Metric, chosen: str = BROKERS, by: str = "instance") -> str:
    """Return a counter's increase for a second."""
    return f"sum by ({by}) (rate({metric.name}{{{chosen}}}[$__rate_interval]))"


def most(metric: Metric, chosen: str = BROKERS, by: str = "instance") -> str:
    """Return the largest of some series."""
    return f"max by ({by}) ({metric.name}{{{chosen}}})"


def topics(metric: Metric) -> str:
    """Return the rate of a counter for each of the topics with the largest ones."""
    return f"topk(20, {rate(metric, TOPICS, 'topic')})"


INSTANCE = "{{instance}}"

ROWS: Sequence[tuple[str, Sequence[Panel]]] = (
    (
        "Cluster",
        (
            Panel("Brokers", [(f"max({e.BROKERS.name}{{{BROKERS}}})", "brokers")], stat=True),
            Panel("Controllers", [(total(k.ACTIVE_CONTROLLER), "controllers")], stat=True, text="Must be 1."),
            Panel("Partitions", [(total(k.LEADER_COUNT), "partitions")], stat=True),
            Panel("Without leader", [(total(k.OFFLINE_PARTITIONS), "partitions")], stat=True),
            Panel("Under-replicated", [(total(k.UNDER_REPLICATED), "partitions")], stat=True),
            Panel("Under min.insync.replicas", [(total(k.UNDER_MIN_ISR_COUNT), "partitions")], stat=True),
            Panel("Log dirs offline", [(total(k.OFFLINE_LOG_DIRS), "log dirs")], stat=True),
            Panel("Fenced brokers", [(total(o.FENCED), "brokers")], stat=True),
        ),
    ),
    (
        "Load",
        (
            Panel(
                "Reactor busy",
                [(f"1 - ({rate(o.REACTOR_IDLE)})", INSTANCE)],
                "percentunit",
                text="One thread does all work: a broker near 100 % is saturated.",
            ),
            Panel("Records in", [(rate(k.MESSAGES_IN, TOPICS), INSTANCE)], "cps"),
            Panel("Bytes in", [(rate(k.BYTES_IN, TOPICS), INSTANCE)], "Bps"),
            Panel("Bytes out", [(rate(k.BYTES_OUT, TOPICS), INSTANCE)], "Bps"),
            Panel("Requests", [(rate(k.REQUESTS, by="request"), "{{request}}")], "reqps"),
            Panel(
                "Refused requests",
                [
                    (rate(k.ERRORS, by="request, error"), "{{request}} {{error}}"),
                    (rate(k.FAILED_PRODUCES, TOPICS, "topic"), "produce to {{topic}}"),
                    (rate(k.FAILED_FETCHES, TOPICS, "topic"), "fetch from {{topic}}"),
                ],
                "reqps",
            ),
            Panel(
                "Batches in a write",
                [(f"{rate(o.LOG_BATCHES)} / {rate(o.LOG_WRITES)}", INSTANCE)],
                text="Small requests that arrive together are written together.",
            ),
            Panel("Slow turns of the reactor", [(rate(o.REACTOR_SLOW_TURNS), INSTANCE)], "ops"),
        ),
    ),
    (
        "Clients",
        (
            Panel(
                "Connections",
                [(most(k.CONNECTION_COUNT, by="instance, listener"), "{{instance}} {{listener}}")],
            ),
            Panel("New connections", [(rate(k.CONNECTION_CREATION), INSTANCE)], "ops"),
            Panel("Memory of requests", [(most(o.REQUEST_MEMORY), INSTANCE)], "bytes"),
            Panel(
                "Waiting fetches",
                [
                    (most(o.PARKED_FETCHES), f"{INSTANCE} consumers"),
                    (most(o.PARKED_REPLICA_FETCHES), f"{INSTANCE} followers"),
                ],
            ),
            Panel("HTTP requests", [(rate(o.HTTP_REQUESTS, by="status"), "{{status}}")], "reqps"),
            Panel(
                "Certificates expire in",
                [
                    (
                        f"{most(o.CERTIFICATE_END, by='instance, listener')} - time()",
                        "{{instance}} {{listener}}",
                    )
                ],
                "s",
            ),
        ),
    ),
    (
        "Topics",
        (
            Panel("Records in", [(topics(k.MESSAGES_IN), "{{topic}}")], "cps"),
            Panel("Bytes in", [(topics(k.BYTES_IN), "{{topic}}")], "Bps"),
            Panel("Bytes out", [(topics(k.BYTES_OUT), "{{topic}}")], "Bps"),
            Panel(
                "Size", [(f"topk(20, sum by (topic) ({k.LOG_SIZE.name}{{{TOPICS}}}))", "{{topic}}")], "bytes"
            ),
        ),
    ),
    (
        "Groups",
        (
            Panel(
                "Lag in seconds",
                [
                    (
                        f"topk(20, {most(o.GROUP_LAG_SECONDS, GROUP_TOPICS, 'consumergroup, topic')})",
                        "{{consumergroup}} {{topic}}",
                    )
                ],
                "s",
            ),
            Panel(
                "Lag in records",
                [
                    (
                        f"topk(20, sum by (consumergroup, topic) ({e.GROUP_LAG_SUM.name}{{{GROUPS}}}))",
                        "{{consumergroup}} {{topic}}",
                    )
                ],
            ),
            Panel("Members", [(most(e.GROUP_MEMBERS, GROUPS, "consumergroup"), "{{consumergroup}}")]),
            Panel(
                "Groups by state",
                [(f"sum by (type, state) ({o.GROUPS.name}{{{BROKERS}}})", "{{type}} {{state}}")],
            ),
        ),
    ),
    (
        "Replication",
        (
            Panel("Lag in records", [(most(o.REPLICA_LAG, by="replica"), "to broker {{replica}}")]),
            Panel(
                "Lag in seconds", [(most(o.REPLICA_LAG_SECONDS, by="replica"), "to broker {{replica}}")], "s"
            ),
            Panel("Bytes in", [(rate(k.REPLICATION_BYTES_IN), INSTANCE)], "Bps"),
            Panel("Bytes out", [(rate(k.REPLICATION_BYTES_OUT), INSTANCE)], "Bps"),
            Panel(
                "Mirrors: lag in records", [(f"sum by (link) ({o.MIRROR_LAG.name}{{{BROKERS}}})", "{{link}}")]
            ),
            Panel("Mirrors: lag in seconds", [(most(o.MIRROR_LAG_SECONDS, by="link"), "{{link}}")], "s"),
        ),
    ),
    (
        "Transactions",
        (
            Panel("By state", [(f"sum by (state) ({o.TRANSACTIONS.name}{{{BROKERS}}})", "{{state}}")]),
            Panel("Oldest", [(most(o.TRANSACTION_OLDEST), INSTANCE)], "s"),
            Panel(
                "Partitions that wait for one",
                [(most(o.HELD_BACK), INSTANCE), (most(o.HANGING), f"{INSTANCE} hanging")],
            ),
        ),
    ),
    (
        "Disks and process",
        (
            Panel(
                "Free room",
                [
                    (
                        f"{o.LOG_DIR_FREE.name}{{{BROKERS}}} / {o.LOG_DIR_SIZE.name}{{{BROKERS}}}",
                        "{{instance}} {{dir}}",
                    )
                ],
                "percentunit",
            ),
            Panel("Time of a sync", [(f"{rate(o.LOG_SYNC_SECONDS)} / {rate(o.LOG_SYNCS)}", INSTANCE)], "s"),
            Panel("Reads from the disk", [(rate(o.COLD_READS), INSTANCE)], "ops"),
            Panel("Compaction: bytes to clean", [(most(o.CLEANER_DIRTY), INSTANCE)], "bytes"),
            Panel("CPU", [(rate(p.CPU_SECONDS), INSTANCE)], "percentunit"),
            Panel("Memory", [(most(p.RESIDENT), INSTANCE)], "bytes"),
            Panel("Open files", [(most(p.OPEN_FDS), INSTANCE)]),
            Panel("Time of a scrape", [(most(o.SCRAPE_SECONDS), INSTANCE)], "s"),
        ),
    ),
)
