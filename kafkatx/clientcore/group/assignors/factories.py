"""The built-in assignors as plugins have them: by factories."""

from __future__ import annotations

from kafkatx.clientcore.group.assignors.assignor import Assignor
from kafkatx.clientcore.group.assignors.range_roundrobin import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY


def range_assignor() -> Assignor:
    """The factory of ``range``."""
    return RANGE


def round_robin_assignor() -> Assignor:
    """The factory of ``roundrobin``."""
    return ROUND_ROBIN


def sticky_assignor() -> Assignor:
    """The factory of ``sticky``."""
    return STICKY


def cooperative_sticky_assignor() -> Assignor:
    """The factory of ``cooperative-sticky``."""
    return COOPERATIVE_STICKY
