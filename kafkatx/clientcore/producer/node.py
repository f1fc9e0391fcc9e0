"""The state of one broker that a producer sends to. Pure."""

from __future__ import annotations

import attrs


@attrs.define(eq=False)
class Node:
    """One broker.

    :ivar version: the version of Produce; None until it is known.
    :ivar not_before_s: nothing is sent before this time: the broker throttles, or has failed.
    """

    node_id: int
    version: int | None = None
    version_requested: bool = False
    in_flight: int = 0
    not_before_s: float = 0.0
