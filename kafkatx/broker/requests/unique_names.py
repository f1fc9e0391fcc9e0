"""Unique names in requests: a repeated name is answered once. Pure.

Otherwise the reply to a small request, and the work for it, would have no bound. :data:`ONCE` gives the
fields with names for each API; the dispatch removes repetitions before a handler sees the request. If entries
of one name differ, the last one counts, as in the maps into which Apache Kafka reads them.

APIs that refuse repeated names, as Apache Kafka does, are not in the table: their handlers use the result of
:meth:`Names.unite`. Fetch is not, either: its handler has a shortcut for one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import attrs


@attrs.frozen
class Names:
    """The place of names in a request: an array of plain values, or of entries with fields that name them.

    :ivar array: the field that holds the array.
    :ivar keys: the fields that make up an entry's name; none for an array of plain values.
    :ivar inner: the names within an entry. Entries of one name are then merged.
    """

    array: str
    keys: tuple[str, ...] = ()
    inner: Names | None = None

    def unite(self, holder: Any) -> set[tuple[Hashable, ...]]:
        """Keep each name once in the arrays of *holder*; return the repeated ones.

        A name is a tuple of the names of all levels, each a value or, of several fields, a tuple.
        """
        items: list[Any] | None = getattr(holder, self.array)
        if not items:
            return set()
        if len(items) == 1:
            return self._within(items)
        if not self.keys:
            setattr(holder, self.array, list(dict.fromkeys(items)))
            return set()
        name_of, inner = attrgetter(*self.keys), self.inner
        found: dict[Hashable, Any] = {}
        repeated: set[tuple[Hashable, ...]] = set()
        for item in items:
            name = name_of(item)
            first = found.get(name)
            if first is None or inner is None:
                if first is not None:
                    repeated.add((name,))
                found[name] = item
            else:
                inner.join(first, item)
        if len(found) < len(items):
            setattr(holder, self.array, list(found.values()))
        return repeated | self._within(found.values())

    def _within(self, items: Any) -> set[tuple[Hashable, ...]]:
        """Unite the names within entries."""
        if self.inner is None:
            return set()
        name_of = attrgetter(*self.keys)
        return {(name_of(item), *name) for item in items for name in self.inner.unite(item)}

    def join(self, first: Any, other: Any) -> None:
        """Append the array of another entry of the same name to that of the first; null means everything."""
        one, two = getattr(first, self.array), getattr(other, self.array)
        if one is None or two is None:
            setattr(first, self.array, None)
        else:
            one.extend(two)


def partitions(topics: str, topic: str, array: str, *keys: str) -> Names:
    """Return the names of a request for partitions of topics."""
    return Names(topics, (topic,), Names(array, keys))


ONCE: Mapping[int, tuple[Names, ...]] = MappingProxyType(
    {
        3: (Names("topics", ("topic_id", "name")),),
        8: (partitions("topics", "name", "partitions", "partition_index"),),
        9: (
            partitions("topics", "name", "partition_indexes"),
            Names("groups", ("group_id",), partitions("topics", "name", "partition_indexes")),
        ),
        10: (Names("coordinator_keys"),),
        13: (Names("members", ("member_id", "group_instance_id")),),
        21: (partitions("topics", "name", "partitions", "partition_index"),),
        23: (partitions("topics", "topic", "partitions", "partition"),),
        24: (
            partitions("v3_and_below_topics", "name", "partitions"),
            Names("transactions", ("transactional_id",), partitions("topics", "name", "partitions")),
        ),
        27: (
            Names(
                "markers",
                ("producer_id", "producer_epoch", "transaction_result", "coordinator_epoch"),
                partitions("topics", "name", "partition_indexes"),
            ),
        ),
        28: (partitions("topics", "name", "partitions", "partition_index"),),
        43: (partitions("topic_partitions", "topic", "partitions"),),
        45: (partitions("topics", "name", "partitions", "partition_index"),),
        47: (partitions("topics", "name", "partitions", "partition_index"),),
        65: (Names("transactional_ids"),),
        69: (Names("group_ids"),),
    }
)
"""The places of the names in each API's requests, by API key."""


def uniting(api_key: int, decode: Callable[..., tuple[Any, int]]) -> Callable[..., tuple[Any, int]]:
    """Return a decoder that keeps each name once; *decode* itself for APIs without names."""
    names = ONCE.get(api_key)
    if names is None:
        return decode

    def decode_once(*args: Any) -> tuple[Any, int]:
        request, end = decode(*args)
        for of_array in names:
            of_array.unite(request)
        return request, end

    return decode_once
