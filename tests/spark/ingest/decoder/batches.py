"""Records as the source gives them, and tables that grow as an ingestion lets them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafkatx.spark.arrow.columns import arrow_schema
from kafkatx.spark.ingest.decoder import Decoded, Decoding, open_decoding, widened
from kafkatx.spark.ingest.table.columns import Column

MOST_ROUNDS = 50


def batch(values: Sequence[bytes | None], start: int = 0) -> Any:
    """A batch of these values in partition 3, with offsets and keys from *start* on."""
    count = len(values)
    numbers = range(start, start + count)
    columns = [
        pa.array([b"key-%d" % number for number in numbers], pa.binary()),
        pa.array(values, pa.binary()),
        pa.repeat("t", count),
        pa.array([3] * count, pa.int32()),
        pa.array(numbers, pa.int64()),
        pa.array([number * 1_000_000 for number in numbers], pa.timestamp("us", tz="UTC")),
        pa.array([0] * count, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(include_headers=False))


def documents(*found: Any) -> Any:
    """A batch of JSON."""
    return batch([json.dumps(item).encode() for item in found])


def settled(
    batches: Iterable[Any],
    columns: Sequence[Column] = (),
    name: str = "json",
    settings: Mapping[str, str] | None = None,
    time_column: str | None = None,
) -> tuple[Decoding, list[Decoded]]:
    """Decode as an ingestion decodes a commit: decode, widen, decode again until nothing is new.

    :raises AssertionError: it does not come to an end.
    """
    found, known = [*batches], list(columns)
    for _ in range(MOST_ROUNDS):
        decoding = open_decoding(name, known, settings or {}, time_column)
        decoding = pickle.loads(pickle.dumps(decoding))
        decoded = [decoding.decode("t", item) for item in found]
        drifts = [item.drift for item in decoded if item.drift]
        if not drifts:
            return decoding, decoded
        wider = widened(decoding.columns(), drifts)
        if wider == decoding.columns():
            raise AssertionError(f"{drifts} adds nothing to {known}")
        known = wider
    raise AssertionError(f"no end after {MOST_ROUNDS} rounds")


def types(decoding: Decoding) -> dict[str, str]:
    """The columns."""
    return {column.name: column.type for column in decoding.columns()}


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    """The rows, without those columns that tell where in Kafka they come from."""
    return [
        {name: value for name, value in row.items() if not name.startswith("kafka_")}
        for row in decoded.rows.to_pylist()
    ]


def reasons(decoded: Decoded) -> dict[int, str]:
    """The dead letters' reasons, by offset."""
    if decoded.dead is None:
        return {}
    return {row["offset"]: row["reason"] for row in decoded.dead.to_pylist()}
