"""The table of series that a broker samples each second. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

import attrs


class Total(Enum):
    """The way in which the values of brokers become that of their cluster."""

    SUM = "sum"
    LEAST = "least"
    MOST = "most"


@attrs.frozen
class Series:
    """A series.

    :ivar unit: of its values; ``1/s`` for rates.
    :ivar peak: True if the highest value stands for a longer time, otherwise it is the mean.
    :ivar total: for charts of a whole cluster.
    """

    name: str
    unit: str
    title: str
    peak: bool = False
    total: Total = Total.SUM


ROWS = (
    Series("bytesIn", "bytes/s", "Bytes that producers write"),
    Series("bytesOut", "bytes/s", "Bytes that consumers read"),
    Series("recordsIn", "1/s", "Records that producers write"),
    Series("replicationBytesIn", "bytes/s", "Bytes copied from other brokers"),
    Series("replicationBytesOut", "bytes/s", "Bytes that other brokers copy"),
    Series("produceRequests", "1/s", "Produce requests"),
    Series("fetchRequests", "1/s", "Fetch requests"),
    Series("requests", "1/s", "Requests of all kinds"),
    Series("refusedRequests", "1/s", "Requests that are refused as a whole"),
    Series("failedProduces", "1/s", "Partitions of produce requests that are refused"),
    Series("failedFetches", "1/s", "Partitions of fetch requests that are refused"),
    Series("coldReads", "1/s", "Fetch requests that wait for the disk"),
    Series("logWrites", "1/s", "Writes to logs"),
    Series("logSyncs", "1/s", "Syncs of logs to the disk"),
    Series("syncMs", "ms", "Mean time of a sync", total=Total.MOST),
    Series("connections", "", "Connections of Kafka clients"),
    Series("httpConnections", "", "Connections over HTTP"),
    Series("requestMemory", "bytes", "Memory that requests hold"),
    Series("reactorIdle", "share", "Share of time in which the reactor waits for work", total=Total.LEAST),
    Series("cpu", "share", "Share of one core that the process uses"),
    Series("topics", "", "Topics with a partition here", total=Total.MOST),
    Series("partitions", "", "Partitions here"),
    Series("leaders", "", "Partitions that this broker leads"),
    Series("underReplicated", "", "Of these: partitions that lack in-sync replicas", peak=True),
    Series("underMinIsr", "", "Of these: partitions with too few in-sync replicas for acks=all", peak=True),
    Series("offline", "", "Partitions here whose log dir has failed", peak=True),
    Series("sizeBytes", "bytes", "Size of all logs here"),
    Series("groups", "", "Groups that this broker coordinates"),
    Series("members", "", "Members of these groups"),
    Series("lag", "records", "Records that these groups are behind"),
)

SERIES: Mapping[str, Series] = MappingProxyType({row.name: row for row in ROWS})
"""The series by name."""

NAMED: Mapping[str, Series] = MappingProxyType(
    {
        row.name: row
        for row in (
            Series("topicBytesIn", "bytes/s", "Bytes that producers write to the topic"),
            Series("topicBytesOut", "bytes/s", "Bytes that consumers read of the topic"),
            Series("lag", "records", "Records that the group is behind", peak=True),
        )
    }
)
"""Series of the busiest topics, and of the groups that are the furthest behind: ``topicBytesIn:NAME``."""


def find_series(name: str) -> Series | None:
    """Return the row of a series; None if there is no such series."""
    kind, colon, _ = name.partition(":")
    return NAMED.get(kind) if colon else SERIES.get(name)
