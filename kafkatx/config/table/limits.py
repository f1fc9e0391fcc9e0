"""The part of the settings table that bounds what a client's requests may cost the others."""

from __future__ import annotations

from kafkatx.config.table.row import Section

LIMITS = Section(
    "Limits",
    "Bounds of kafkatx's own on what one client's requests may cost the others; Kafka has none such.",
)

REQUEST_MIN_BYTES_PER_SECOND = LIMITS.integer(
    "kafkatx.request.min.bytes.per.second",
    65_536,
    "While unfinished requests wait for queued.max.request.bytes, the connection of one that is read and "
    "comes slower than this is closed.",
    low=0,
    unit="bytes",
)
REQUEST_TURN_MAX_MS = LIMITS.integer(
    "kafkatx.request.turn.max.ms",
    60_000,
    "While unfinished requests wait for queued.max.request.bytes, the connection of one that is read for "
    "longer than this is closed.",
    low=1000,
    unit="ms",
)
REQUEST_MAX_ITEMS = LIMITS.integer(
    "kafkatx.request.max.items",
    200_000,
    "Elements of all arrays (topics, partitions, groups) that one request may have together; the connection "
    "of a client that sends more is closed.",
    low=1000,
)
DOWNCONVERSION_MAX_BYTES = LIMITS.long(
    "kafkatx.downconversion.max.bytes",
    64 << 20,
    "Bytes of records that all fetch replies together may hold in memory because they had to be converted "
    "for clients older than Kafka 0.11; beyond it the next ones wait.",
    low=1 << 20,
    unit="bytes",
)

LOG_LINES_PER_MINUTE = LIMITS.integer(
    "kafkatx.log.lines.per.minute",
    10,
    "Lines of one kind that clients can cause in the broker's log within a minute (a refused connection, a "
    "malformed request); one more line counts the others.",
    low=1,
)

SECTIONS = (LIMITS,)
"""The sections of this part."""
