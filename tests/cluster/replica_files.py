"""The logs of all replicas as ``kafkatx log dump`` has them, compared. It starts processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        replicas = {who: _batches(path) for who, path in paths.items()}
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


def _batches(path: Path) -> Iterator[Batch]:
    for row in _rows(path):
        if row["kind"] == "batch":
            yield Batch(row["base_offset"], row["last_offset"], row["leader_epoch"], row["size"], row["crc"])


def _records(path: Path, end: int) -> Iterator[tuple[int, bytes]]:
    for row in _rows(path, "--records"):
        if row["kind"] == "record" and row["offset"] < end:
            yield row["offset"], str(row["value"]).encode()


def _rows(path: Path, *options: str) -> Iterator[dict[str, Any]]:
    """Yield the rows that the command prints, as it prints them."""
    command = [sys.executable, "-m", "kafkatx", "log", "dump", str(path), "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
