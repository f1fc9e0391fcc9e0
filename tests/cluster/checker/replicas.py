"""The batches of a partition's replicas, which are the same up to the high watermark. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from tests.cluster.checker.findings import Findings, Kind


class Batch(NamedTuple):
    """A batch as a log file has it; the checksum covers all but offset and leader epoch."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    size: int
    crc: int


def check_replicas(
    partition: str, high_watermark: int, replicas: Mapping[str, Iterable[Batch]], findings: Findings
) -> int:
    """Compare the replicas of a partition, batch by batch; return how many batches each has.

    :param partition: its name.
    :param high_watermark: batches from this offset on may differ.
    :param replicas: the batches of each replica, in order.
    """
    below = [_below(batches, high_watermark) for batches in replicas.values()]
    names = list(replicas)
    count = end = 0
    for row in zip_longest(*below):
        if any(batch != row[0] for batch in row):
            seen = ", ".join(f"{name} has {_text(batch)}" for name, batch in zip(names, row, strict=True))
            findings.add(Kind.REPLICAS_DIFFER, f"{partition} after batch {count}: {seen}")
            return count
        count += 1
        end = row[0].last_offset + 1
    if end < high_watermark:
        findings.add(
            Kind.REPLICAS_DIFFER,
            f"{partition}: replicas end at {end}, the high watermark is {high_watermark}",
        )
    return count


def _below(batches: Iterable[Batch], high_watermark: int) -> Iterator[Batch]:
    for batch in batches:
        if batch.base_offset >= high_watermark:
            return
        yield batch


def _text(batch: Batch | None) -> str:
    if batch is None:
        return "no batch"
    return (
        f"{batch.base_offset} to {batch.last_offset} in epoch {batch.leader_epoch} "
        f"({batch.size} bytes, crc {batch.crc:08x})"
    )
