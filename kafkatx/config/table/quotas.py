"""The part of the settings table about client quotas; the quotas themselves are not settings."""

from __future__ import annotations

from kafkatx.config.table.row import Section

QUOTAS = Section(
    "Quotas",
    "Measurement of clients' byte rates; the quotas themselves are set with kafkatx configs, "
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

SECTIONS = (QUOTAS,)
"""This part of the table."""
