"""``kafkatx ingest`` as a member: it loads a topic into Parquet files. Starts processes, writes files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet

from kafkatx import __version__
from tests.clients.features import PARTITIONS
from tests.clients.scenario import Scenario, Told, main, until
from tests.clients.toolchains import ROOT

LONG_S = 300.0


class Ingestion(Scenario):
    """The command line, ``--follow`` and then ``--once``."""

    def version(self) -> str:
        """Return the version of kafkatx."""
        return __version__

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """Follow the topic; at the end stop as Ctrl-C does, load the rest, and tell all rows of the files."""
        with tempfile.TemporaryDirectory(prefix="kafkatx-clients-") as folder:
            table = Path(folder) / "table"
            command = [sys.executable, "-m", "kafkatx", "ingest", "-t", topic, "--to", str(table), "--quiet"]
            command += ["-b", self.bootstrap, "--master", "local[2]"]
            following = subprocess.Popen(
                [*command, "--follow", "--commit-every", "2"],
                cwd=ROOT,
                start_new_session=True,
                stdout=sys.stderr,
                stdin=subprocess.DEVNULL,
            )
            try:
                until("the first files", lambda: following.poll() is not None or _files(table), LONG_S)
                told.assigned(range(PARTITIONS))
                told.leave.wait()
                following.send_signal(signal.SIGINT)
                status = following.wait(LONG_S)
            finally:
                if following.poll() is None:
                    os.killpg(following.pid, signal.SIGKILL)
            if status:
                raise AssertionError(f"kafkatx ingest --follow ended with {status}")
            subprocess.run([*command, "--once"], cwd=ROOT, check=True, timeout=LONG_S, stdout=sys.stderr)
            for file in _files(table):
                rows = pyarrow.parquet.ParquetFile(file).read(["partition", "offset"]).to_pylist()
                told.read((row["partition"], row["offset"]) for row in rows)


def _files(table: Path) -> list[Path]:
    """Return the files that are published."""
    return [
        path
        for path in table.rglob("*.parquet")
        if not any(p[0] in "._" for p in path.relative_to(table).parts)
    ]


if __name__ == "__main__":
    main(Ingestion)
