"""The settings of an admin client (Kafka's ``AdminClientConfig``)."""

from __future__ import annotations

from kafkatx.config.table.row import INT_MAX, Section

SECTIONS: tuple[Section, ...] = ()

KEPT = Section("", "")
KEPT.integer("retries", INT_MAX, "Calls are retried until `default.api.timeout.ms` is over.", low=0)

DEFAULTS = {"connections.max.idle.ms": 300_000}
"""Common settings with another default in an admin client."""
