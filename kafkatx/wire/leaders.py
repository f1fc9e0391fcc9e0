"""The new leader of a partition, as replies of Produce and Fetch name it (KIP-951)."""

from __future__ import annotations

from kafkatx.wire.schema import INT32, STRING, Struct, field, nullable


class LeaderIdAndEpoch(Struct):
    """The current leader, or -1."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


class NodeEndpoint(Struct):
    """The address of a broker that leads a partition now."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(nullable(STRING))
