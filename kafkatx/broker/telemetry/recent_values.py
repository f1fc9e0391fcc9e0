"""The recent values of what clients push: a table that metrics, explanations and commands read. Pure.

A gauge is the value of the last push that had it; it is gone with the next push without it. A delta is added
to what came before, so sums grow as long as their client lives; cumulative sums are kept as they come.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import attrs

from kafkatx.broker.telemetry.otlp import Kind, Labels, Push
from kafkatx.broker.telemetry.subscriptions import Client

MOST_PER_CLIENT = 2000

Key: TypeAlias = "tuple[str, Labels]"
"""The name of a metric, and the labels of one of its values."""


class Value(NamedTuple):
    """A value, and True if it is a sum."""

    value: float
    is_sum: bool


@attrs.define(eq=False)
class ClientValues:
    """The values of one client instance.

    :ivar principal: the principal that has pushed.
    :ivar labels: about the client, as it says: ``group_id``, ``client_rack``, ...
    :ivar pushed_ms: the monotonic time of the last push.
    :ivar dropped: values of the last push that were not kept, for want of room.
    """

    instance_id: uuid.UUID
    client: Client
    principal: str = ""
    labels: Labels = ()
    pushed_ms: float = 0.0
    interval_ms: int = 0
    pushes: int = 0
    dropped: int = 0
    values: Mapping[Key, Value] = attrs.Factory(dict)


class RecentValues:
    """The values of all clients.

    :param most: the most values that are kept, of all clients together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self._clients: dict[uuid.UUID, ClientValues] = {}

    def __iter__(self) -> Iterator[ClientValues]:
        return iter(self._clients.values())

    def of_client_id(self, client_id: str) -> list[ClientValues]:
        """Return the instances with a client id."""
        return [one for one in self._clients.values() if one.client.client_id == client_id]

    def take(
        self,
        instance_id: uuid.UUID,
        client: Client,
        principal: str,
        push: Push,
        interval_ms: int,
        now_ms: float,
    ) -> None:
        """Add a push of a client instance."""
        found = self._clients.get(instance_id)
        if found is None:
            found = self._clients[instance_id] = ClientValues(instance_id, client)
        self.count -= len(found.values)
        values = {key: value for key, value in found.values.items() if value.is_sum}
        room = min(MOST_PER_CLIENT, self.most - self.count)
        dropped = push.dropped
        for point in push.points:
            key = (point.name, point.labels)
            before = values.get(key)
            if before is None and len(values) >= room:
                dropped += 1
                continue
            is_sum = point.kind is not Kind.GAUGE
            base = before.value if before is not None and point.kind is Kind.DELTA else 0.0
            values[key] = Value(base + point.value, is_sum)
        self.count += len(values)
        found.values, found.dropped = values, dropped
        found.principal, found.labels = principal, push.labels
        found.interval_ms, found.pushed_ms = interval_ms, now_ms
        found.pushes += 1

    def forget(self, instance_ids: Iterable[uuid.UUID]) -> None:
        """Forget client instances."""
        for one in instance_ids:
            gone = self._clients.pop(one, None)
            if gone is not None:
                self.count -= len(gone.values)
