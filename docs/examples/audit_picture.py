"""The picture of docs/audit.md: ``python docs/examples/audit_picture.py docs/audit.png``.

An hour of a shop's orders; the table that they were loaded into has lost one file and has another one twice.
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict

import pyarrow
from pyarrow import parquet

from kafkatx.blocking import Cluster, Reader
from kafkatx.client.threads import Producer
from kafkatx.testing import EmbeddedBroker

NOON_MS = 1_431_864_000_000
WINDOW_MS = 120_000
WINDOWS = 30


def produce(bootstrap: str) -> int:
    """Send orders with an audited producer; return their number."""
    sent = 0
    with Producer(bootstrap_servers=bootstrap, audit_interval_ms=WINDOW_MS, client_id="shop") as producer:
        for window in range(WINDOWS):
            count = 300 + round(200 * math.sin(window / WINDOWS * math.pi)) + window * 7 % 40
            for number in range(count):
                time_ms = NOON_MS + (window - WINDOWS) * WINDOW_MS + number * WINDOW_MS // count
                producer.send("orders", b"an order", timestamp_ms=time_ms)
            sent += count
    return sent


def load(bootstrap: str, directory: str, count: int) -> None:
    """Load the topic into Parquet, one file per window."""
    rows = defaultdict(list)
    with (
        Cluster(bootstrap) as cluster,
        Reader(cluster, "orders", 0, start_offset=0, end_offset=count) as reader,
    ):
        for record in reader:
            rows[record.timestamp // WINDOW_MS].append((record.offset, record.timestamp))
    for number, window in enumerate(sorted(rows)):
        offsets, times = zip(*rows[window], strict=True)
        columns = {
            "topic": pyarrow.array(["orders"] * len(offsets)),
            "partition": pyarrow.array([0] * len(offsets), pyarrow.int32()),
            "offset": pyarrow.array(offsets, pyarrow.int64()),
            "timestamp": pyarrow.array(times, pyarrow.timestamp("ms", "UTC")),
        }
        parquet.write_table(pyarrow.table(columns), f"{directory}/part-{number:02}.parquet")


def main(picture: str) -> None:
    """Produce, load, damage, audit."""
    with EmbeddedBroker(run_in="process") as broker, tempfile.TemporaryDirectory() as folder:
        directory = f"{folder}/orders"
        os.mkdir(directory)
        load(broker.bootstrap, directory, produce(broker.bootstrap))
        os.remove(f"{directory}/part-12.parquet")
        shutil.copy(f"{directory}/part-20.parquet", f"{directory}/part-20-copy.parquet")
        command = [sys.executable, "-c", "import sys; from kafkatx.cli.main import main; sys.exit(main())"]
        options = ["-b", broker.bootstrap, "--ingested", "orders", "--settle", "0"]
        told = subprocess.run([*command, "audit", *options, "--plot", os.path.abspath(picture)], cwd=folder)
        sys.exit(0 if told.returncode == 1 else "the audit has found nothing")


if __name__ == "__main__":
    main(sys.argv[1])
