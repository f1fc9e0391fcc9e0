"""The logs of all replicas as ``kafkatx log dump`` has them, compared. Reads files, and starts a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kafkatx.log.files import Files
from kafkatx.log.inspect.dump import Dump
from kafkatx.log.inspect.rows import BatchRow, DamageRow, RecordRow, Row
from tests.cluster.checker.contents import Contents
from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import id_of
from tests.cluster.checker.replicas import Batch, check_replicas


def compare(
    folders: dict[int, Path], topic: str, ends: dict[int, int], contents: Contents, findings: Findings
) -> int:
    """Compare the replicas of a topic with each other, and one of each partition with what readers saw.

    :param folders: the log dir of each broker.
    :param ends: the high watermark of each partition.
    :return: how many batches were compared.
    """
    batches = 0
    for number, end in ends.items():
        name = f"{topic}-{number}"
        paths = {
            f"broker {one}": folder / name for one, folder in folders.items() if (folder / name).exists()
        }
        replicas = {who: _batches(path, findings) for who, path in paths.items()}
        batches += check_replicas(name, end, replicas, findings)
        who, path = sorted(paths.items())[number % len(paths)]
        for offset, value in _records(path, end):
            contents.seen(f"the file of {who}", topic, number, offset, id_of(value))
    return batches


def check_files(folders: dict[int, Path], findings: Findings) -> None:
    """Run ``kafkatx log verify`` on every log dir."""
    for broker_id, folder in folders.items():
        done = subprocess.run(
            [sys.executable, "-m", "kafkatx", "log", "verify", str(folder)], capture_output=True, text=True
        )
        if done.returncode:
            said = " | ".join((done.stdout + done.stderr).splitlines()[-5:])
            findings.add(Kind.REPLICAS_DIFFER, f"log verify of broker {broker_id}: {said}")


def _batches(path: Path, findings: Findings) -> Iterator[Batch]:
    for row in _dump(path):
        if isinstance(row, DamageRow) or (isinstance(row, BatchRow) and not row.crc_ok):
            findings.add(Kind.REPLICAS_DIFFER, f"{row.file} is damaged at position {row.position}")
        elif isinstance(row, BatchRow):
            epoch = -1 if row.leader_epoch is None else row.leader_epoch
            yield Batch(row.base_offset, row.last_offset, epoch, row.size, row.crc)


def _records(path: Path, end: int) -> Iterator[tuple[int, bytes | None]]:
    for row in _dump(path, records=True):
        if isinstance(row, RecordRow) and row.offset < end:
            yield row.offset, row.value


def _dump(path: Path, *, records: bool = False) -> Iterator[Row]:
    """Yield the rows that ``kafkatx log dump`` prints; a process for each of them would take a minute."""
    return Dump(Files(), records).rows(str(path))
