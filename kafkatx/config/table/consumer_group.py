"""The table of the configs that a group of the consumer protocol (KIP-848) may have."""

from __future__ import annotations

from kafkatx.config.table.row import Section

HONOURED = Section("Group configs", "Configs of one group of the consumer protocol (resource type GROUP).")

SESSION_TIMEOUT_MS = HONOURED.integer(
    "consumer.session.timeout.ms",
    45_000,
    "Time without a heartbeat after which a member of the group is removed.",
    low=1,
    unit="ms",
)
HEARTBEAT_INTERVAL_MS = HONOURED.integer(
    "consumer.heartbeat.interval.ms",
    5000,
    "Interval at which members of the group send heartbeats; less than the session time-out.",
    low=1,
    unit="ms",
)

SETTINGS = {setting.name: setting for setting in (SESSION_TIMEOUT_MS, HEARTBEAT_INTERVAL_MS)}
"""The group configs by name, in the table's order."""
