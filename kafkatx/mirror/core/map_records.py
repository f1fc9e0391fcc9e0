"""The records of a mirror's own topic in the target, ``kafkatx-mirror.<alias>.internal``. Pure.

The topic is compacted and has one partition. Keys and values are JSON in UTF-8. A record of a source
partition and a target topic is about one *stream*: ``cluster`` is the id of the source's cluster, ``topic``
and ``partition`` are the source's, ``target`` is the topic in the target, whose partition has the same
number.

Positions: how far a stream is copied. One key for each stream::

    {"cluster":"Xy…","kind":"position","partition":0,"target":"dc1.orders","topic":"orders"}
    {"epoch":0,"producer":2305…,"sequence":17,"source":1017,"target":17,"topic_id":"…"}

``source`` is the next source offset, ``target`` the offset after the last copy (-1: none yet), ``sequence``
the next sequence number of the producer; ``topic_id`` is the id of the source's topic.

Runs: pairs of offsets, as :mod:`kafkatx.mirror.core.offset_map` describes. ``from`` is the first target
offset; the key's latest value counts, and each value stays true for as long as the target has the records::

    {"cluster":"Xy…","from":0,"kind":"runs","partition":0,"target":"dc1.orders","topic":"orders"}
    {"runs":[[1000,0,17]]}

A record without a value takes back its key: the target has deleted those records. What is not understood is
left alone, so that later versions can add keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import attrs

from kafkatx.mirror.core.offset_map import OffsetMap, Run
from kafkatx.mirror.core.provenance import StreamId

CHUNK_RUNS = 500
"""The most runs in one record."""

NO_TARGET = -1


def topic_name(alias: str) -> str:
    """Return the name of the topic for the source with this alias."""
    return f"kafkatx-mirror.{alias}.internal"


@attrs.frozen
class Position:
    """The progress of a stream.

    :ivar source: the next source offset.
    :ivar target: the target offset after the last copy; -1: there is none yet.
    :ivar sequence: the producer's next sequence number.
    :ivar topic_id: of the source's topic; empty if its brokers have no ids.
    """

    source: int
    target: int = NO_TARGET
    producer_id: int = -1
    producer_epoch: int = 0
    sequence: int = 0
    topic_id: str = ""


@attrs.define
class StreamRecords:
    """The topic's content about one stream.

    :ivar chunks: the runs of each record, by the first target offset.
    """

    position: Position | None = None
    chunks: dict[int, tuple[Run, ...]] = attrs.Factory(dict)

    def offset_map(self) -> OffsetMap:
        """Return the whole map, in order of the target's offsets."""
        runs = sorted({run for chunk in self.chunks.values() for run in chunk}, key=lambda run: run.target)
        return OffsetMap(runs)


def position_record(stream: StreamId, position: Position) -> tuple[bytes, bytes]:
    """Return key and value of a position."""
    value = {
        "source": position.source,
        "target": position.target,
        "producer": position.producer_id,
        "epoch": position.producer_epoch,
        "sequence": position.sequence,
        "topic_id": position.topic_id,
    }
    return _json(_key(stream, "position")), _json(value)


def runs_key(stream: StreamId, first_target: int) -> bytes:
    """Return the key of a record with runs."""
    return _json({**_key(stream, "runs"), "from": first_target})


def runs_record(stream: StreamId, runs: Iterable[Run]) -> tuple[bytes, bytes]:
    """Return key and value of at least one run."""
    listed = [list(run) for run in runs]
    return runs_key(stream, listed[0][1]), _json({"runs": listed})


def take(found: dict[StreamId, StreamRecords], key: bytes | None, value: bytes | None) -> None:
    """Take one record of the topic into *found*; records must come in the order of the log."""
    try:
        named = json.loads(key or b"")
        stream = StreamId(named["cluster"], named["topic"], int(named["partition"]), named["target"])
        kind = named["kind"]
        if kind == "position":
            position = None if value is None else _position(json.loads(value))
            found.setdefault(stream, StreamRecords()).position = position
        elif kind == "runs":
            first = int(named["from"])
            runs = () if value is None else tuple(Run(*map(int, run)) for run in json.loads(value)["runs"])
            chunks = found.setdefault(stream, StreamRecords()).chunks
            if runs:
                chunks[first] = runs
            else:
                chunks.pop(first, None)
    except (ValueError, KeyError, TypeError):
        return


def _position(read: dict[str, object]) -> Position:
    numbers: list[int] = []
    for name in ("source", "target", "producer", "epoch", "sequence"):
        number = read[name]
        if not isinstance(number, int):
            raise ValueError(f"a position with {name} {number}")
        numbers.append(number)
    source, target, producer, epoch, sequence = numbers
    return Position(source, target, producer, epoch, sequence, str(read.get("topic_id", "")))


def _key(stream: StreamId, kind: str) -> dict[str, object]:
    return {
        "kind": kind,
        "cluster": stream.cluster_id,
        "topic": stream.topic,
        "partition": stream.partition,
        "target": stream.target,
    }


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class Journal:
    """The runs of one stream that are not in the topic yet, or have grown since.

    A run that grows is written again under the same key, so a partition that is copied whole takes one key.
    """

    def __init__(self, stream: StreamId) -> None:
        self._stream = stream
        self._open = OffsetMap()
        self._changed = False
        self._full: list[tuple[Run, ...]] = []

    def add(self, sources: Iterable[int], target: int) -> None:
        """Add copied records; see :meth:`OffsetMap.add_offsets`."""
        self._open.add_offsets(sources, target)
        self._added()

    def add_run(self, run: Run) -> None:
        """Add one run."""
        self._open.add(*run)
        self._added()

    def _added(self) -> None:
        self._changed = True
        if len(self._open) >= CHUNK_RUNS:
            self._close()

    def _close(self) -> None:
        runs = tuple(self._open)
        for at in range(0, len(runs), CHUNK_RUNS):
            self._full.append(runs[at : at + CHUNK_RUNS])
        self._open = OffsetMap()
        self._changed = False

    def take(self) -> list[tuple[tuple[bytes, bytes], int, int]]:
        """Return the records to write now, each with its first target offset, and the one after its last."""
        chunks, self._full = self._full, []
        if self._changed and len(self._open):
            chunks.append(tuple(self._open))
        self._changed = False
        return [(runs_record(self._stream, runs), runs[0].target, runs[-1].target_end) for runs in chunks]
