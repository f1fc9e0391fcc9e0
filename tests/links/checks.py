"""Checks of the end: equal batches on the disks of both sides, and groups that go on where they were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import attrs
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from tests.links.ends import Ends
from tests.links.load import PARTITIONS, Kind

MARK = (
    *("last_offset", "leader_epoch", "crc", "producer_id", "producer_epoch", "base_sequence", "magic"),
    *("size", "codec", "transactional", "control", "max_timestamp"),
)
"""The fields of a batch's row in a dump that must be equal."""


@attrs.frozen
class Compared:
    """The result of comparing the dumps of one partition.

    :ivar batches: batches that both sides have, and that are equal.
    :ivar only: batches that only one side has: compaction has removed or changed them on the other.
    """

    batches: int
    only: int


def data_folder(broker: object) -> str:
    """Return the folder with the partitions of a broker of the matrix."""
    folder: str = broker._folder  # type: ignore[attr-defined]
    inner = os.path.join(folder, "data")
    return inner if os.path.isdir(inner) else folder


def dump(broker: object, topic: str, partition: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the batches of a partition's files."""
    folder = os.path.join(data_folder(broker), f"{topic}-{partition}")
    command = [sys.executable, "-m", "kafkatx", "log", "dump", "--json", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = json.loads(line)
            if row.get("kind") == "batch":
                yield row


def compare_dumps(ends: Ends, kind: Kind, partition: int) -> Compared:
    """Compare the files of a partition at both ends, batch by batch.

    :raises AssertionError: an offset has another batch, or one side lacks a batch.
    """
    marks = [
        {
            row["base_offset"]: tuple(row.get(name) for name in MARK)
            for row in dump(broker, kind.topic, partition)
        }
        for broker in (ends.source, ends.target)
    ]
    source, target = marks
    same = sum(target.get(offset) == mark for offset, mark in source.items())
    only = len(source) + len(target) - 2 * same
    if only and "cleanup.policy" not in kind.configs:
        wrong = [offset for offset in {*source, *target} if source.get(offset) != target.get(offset)]
        at = min(wrong)
        raise AssertionError(
            f"{kind.topic}-{partition}: {len(wrong)} offsets differ; at {at}: {source.get(at)} and"
            f" {target.get(at)}"
        )
    return Compared(same, only)


def read(bootstrap: str, topic: str, partition: int) -> dict[int, tuple[bytes, bytes]]:
    """Return key and value of each committed record of a partition by its offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "compare",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found: dict[int, tuple[bytes, bytes]] = {}
    ended = False
    while not ended:
        for message in consumer.consume(10_000, timeout=0.5):
            error = message.error()
            if error is None:
                found[message.offset()] = (message.key(), message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                ended = True
    consumer.close()
    return found


def compare_tables(ends: Ends, kind: Kind, partition: int) -> int:
    """Compare what a compacted partition says of each key at both ends, and every record that both have.

    :return: the number of keys.
    :raises AssertionError: they differ.
    """
    both = [read(broker.bootstrap, kind.topic, partition) for broker in (ends.source, ends.target)]
    source, target = both
    for offset in source.keys() & target.keys():
        if source[offset] != target[offset]:
            raise AssertionError(f"{kind.topic}-{partition}: another record at offset {offset}")
    newest = [{key: (offset, value) for offset, (key, value) in side.items()} for side in both]
    if newest[0] != newest[1]:
        raise AssertionError(f"{kind.topic}-{partition}: another last record of a key")
    return len(newest[0])


def check_records(ends: Ends, kind: Kind, acknowledged: list[int]) -> None:
    """Check that the target has each acknowledged record once, in order.

    :raises AssertionError: it has not.
    """
    for partition in range(PARTITIONS):
        numbers = [int(value.split()[1]) for _, value in read_values(ends, kind.topic, partition)]
        if numbers != sorted(set(numbers)):
            raise AssertionError(f"{kind.topic}-{partition}: records are doubled or out of order")
        is_whole = "cleanup.policy" not in kind.configs and not kind.transactional
        if is_whole and len(numbers) != acknowledged[partition]:
            raise AssertionError(
                f"{kind.topic}-{partition}: {acknowledged[partition]} records were acknowledged, the target"
                f" has {len(numbers)}"
            )


def read_values(ends: Ends, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Return offset and value of each committed record at the target."""
    found = read(ends.target.bootstrap, topic, partition)
    return [(offset, value) for offset, (_, value) in found.items()]
