"""The part of the settings table about the resources that one client's requests take: limits and quotas.

The quotas themselves are not settings.
"""

from __future__ import annotations

from kafkatx.config.table.row import Section

LIMITS = Section(
    "Limits",
    "Limits on the resources that one client's requests take from others. Apache Kafka has no such limits.",
)

REQUEST_MIN_BYTES_PER_SECOND = LIMITS.integer(
    "kafkatx.request.min.bytes.per.second",
    65_536,
    "Minimum rate of an incomplete request while others wait for queued.max.request.bytes; a slower "
    "connection is closed.",
    low=0,
    unit="bytes",
)
REQUEST_TURN_MAX_MS = LIMITS.integer(
    "kafkatx.request.turn.max.ms",
    60_000,
    "Maximum time to read an incomplete request while others wait for queued.max.request.bytes; a "
    "connection that is too slow for that is closed.",
    low=1000,
    unit="ms",
)
REQUEST_MAX_ITEMS = LIMITS.integer(
    "kafkatx.request.max.items",
    200_000,
    "Maximum number of elements in all arrays (topics, partitions, groups) of one request; the "
    "connection of a client that sends more is closed.",
    low=1000,
)
DOWNCONVERSION_MAX_BYTES = LIMITS.long(
    "kafkatx.downconversion.max.bytes",
    64 << 20,
    "Maximum bytes of converted records for clients older than Kafka 0.11 that all fetch responses "
    "may hold in memory; above it further responses wait.",
    low=1 << 20,
    unit="bytes",
)

UNAUTHENTICATED_CONNECTIONS_MAX_PER_IP = LIMITS.integer(
    "kafkatx.unauthenticated.connections.max.per.ip",
    500,
    "Connections of one address, at listeners with TLS or SASL, whose handshake or login is not done; above "
    "it the oldest of the address is closed for each new one.",
    low=1,
    dynamic=True,
)
LOG_LINES_PER_MINUTE = LIMITS.integer(
    "kafkatx.log.lines.per.minute",
    10,
    "Maximum lines of one kind per minute that clients can cause in the broker's log (a refused "
    "connection, a malformed request); one more line counts the omitted ones.",
    low=1,
)

QUOTAS = Section(
    "Quotas",
    "Measurement of what clients and addresses use; the quotas themselves are set with kafkatx quotas, "
    "kafka-configs or any admin client.",
)

QUOTA_WINDOW_NUM = QUOTAS.integer(
    "quota.window.num",
    11,
    "Number of samples that a client's rate is computed from, including the current one.",
    low=1,
)
QUOTA_WINDOW_SIZE_SECONDS = QUOTAS.integer(
    "quota.window.size.seconds",
    1,
    "Length of each sample.",
    low=1,
    unit="seconds",
)

CONTROLLER_QUOTA_WINDOW_NUM = QUOTAS.integer(
    "controller.quota.window.num",
    11,
    "Number of samples whose mutations of partitions a client may make at once (controller_mutation_rate).",
    low=1,
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = QUOTAS.integer(
    "controller.quota.window.size.seconds",
    1,
    "Length of each of these samples.",
    low=1,
    unit="seconds",
)

SECTIONS = (LIMITS,)
"""The sections about limits."""

QUOTA_SECTIONS = (QUOTAS,)
"""The section about quotas, which is the last of the table."""
