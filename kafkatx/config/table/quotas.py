"""The part of the settings table that is about client quotas; the quotas themselves are no settings."""

from __future__ import annotations

from kafkatx.config.table.row import Section

QUOTAS = Section(
    "Quotas", "How the byte rates of clients are measured; the quotas are set by kafka-configs and its like."
)

QUOTA_WINDOW_NUM = QUOTAS.integer(
    "quota.window.num",
    11,
    "How many samples the rate of a client is taken from: the one under way and those before it.",
    low=1,
)
QUOTA_WINDOW_SIZE_SECONDS = QUOTAS.integer(
    "quota.window.size.seconds",
    1,
    "How long each sample is.",
    low=1,
    unit="seconds",
)

SECTIONS = (QUOTAS,)
"""This part of the table."""
