"""Factories of the built-in assignors, for the plugin system."""

from __future__ import annotations

from kafkatx.clientcore.group.assignors.assignor import Assignor
from kafkatx.clientcore.group.assignors.range_roundrobin import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY


def range_assignor() -> Assignor:
    """Return ``range``."""
    return RANGE


def round_robin_assignor() -> Assignor:
    """Return ``roundrobin``."""
    return ROUND_ROBIN


def sticky_assignor() -> Assignor:
    """Return ``sticky``."""
    return STICKY


def cooperative_sticky_assignor() -> Assignor:
    """Return ``cooperative-sticky``."""
    return COOPERATIVE_STICKY
