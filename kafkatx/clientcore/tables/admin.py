"""The settings of an administrator (Kafka's ``AdminClientConfig``)."""

from __future__ import annotations

from kafkatx.config.table.row import INT_MAX, Section

SECTIONS: tuple[Section, ...] = ()

KEPT = Section("", "")
KEPT.integer("retries", INT_MAX, "Calls are tried again until `default.api.timeout.ms` is over.", low=0)

DEFAULTS = {"connections.max.idle.ms": 300_000}
"""Common settings that have another default in an administrator."""
