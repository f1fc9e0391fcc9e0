"""Three brokers with three copies, ``acks=all``, at least two in sync, beside three of Apache Kafka.

    python -m benchmarks.replication [--rounds N] [--minutes M] [--systems NAME,...] [--seconds S]
        [--cells TEXT] [--out FILE]
    python -m benchmarks.replication --plot FILE [--to FOLDER]

The systems are ``kafkatx`` (``kafkatx up --brokers 3``), ``kafka-4`` (three Apache Kafka 4 processes in KRaft
mode, each a broker and a controller) and ``kafkatx-zookeeper`` (three brokers of ours with a ZooKeeper; gaps
only). In each round each of them starts with empty data and is warmed up; the order changes from round to
round. Brokers and clients share all cores. Cells:

*   100 B, 1 kB and 10 kB; batches as the client makes them, and single messages; 1 and 10 producers: messages
    a second, and CPU seconds of the brokers for a million.
*   ``latency``: 1,000 messages a second of 1 kB: until the acknowledgement, and until a consumer has them.
*   ``catch-up``: a follower stands still while 1 GB is produced, and goes on: MB/s until it is in sync, and
    p99 of clients meanwhile beside that of before.
*   ``SIGTERM`` and ``kill -9 of a leader``: the longest time without an acknowledgement.

Five rounds take about half an hour. After each system's turn FILE has all figures so far, and after each
round FILE with the ending ``.txt`` the table: an interrupted run counts as far as it went. ``--plot`` makes
the pictures and ``copies.md`` of the documentation.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from benchmarks.compare.machine import Watch, machine
from benchmarks.compare.systems.apache import Apache
from benchmarks.replication import cells, clusters, plots, report

DOCUMENTS = Path(__file__).parents[2] / "docs" / "performance"


def _tell(line: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {line}", flush=True)


def run_system(
    system: str, names: list[str], seconds: float, rates: dict[str, dict[str, float]], failed: list[str]
) -> report.Measured:
    """Start a system with empty data, and measure the cells."""
    watch, begun_s = Watch(), time.monotonic()
    mine: list[str] = []
    found: dict[str, cells.Figures] = {}
    with tempfile.TemporaryDirectory(
        dir=os.environ.get("KAFKATX_BENCH_DIR"), prefix="kafkatx-copies-", ignore_cleanup_errors=True
    ) as folder:
        try:
            with clusters.ALL[system](folder) as cluster:
                if system != report.WITH_ZOOKEEPER:
                    _warm(system, cluster)
                found = cells.measure(
                    cluster,
                    [name for name in names if system != report.WITH_ZOOKEEPER or name in cells.GAPS],
                    seconds,
                    rates.setdefault(system, {}),
                    lambda line: _tell(f"{system}: {line}"),
                    mine,
                )
        except cells.FAILURES as error:
            mine.append(f"{error!r}"[:500])
            _tell(f"{system}: FAILED: {error!r}")
    failed += [f"{system}: {line}" for line in mine]
    took_s = time.monotonic() - begun_s
    _tell(f"{system}: {took_s:.0f} s, {watch.stolen_percent():.0f}% of a core stolen by the host")
    return report.Measured(found, watch.stolen_percent(), took_s)


def _warm(system: str, cluster: clusters.Copies) -> None:
    try:
        cells.warm(cluster)
    except cells.FAILURES as error:  # on a busy machine it may take too long; the cells will tell
        _tell(f"{system}: not warm: {error!r}")


def run(given: argparse.Namespace) -> report.Run:
    """Measure all rounds, or as many as there is time for."""
    systems = given.systems.split(",")
    names = [name for name in cells.NAMES if given.cells in name]
    done = report.Run(machine(), report.now_text(datetime.now(timezone.utc)))
    rates: dict[str, dict[str, float]] = {}
    begun_s, longest_s = time.monotonic(), 0.0
    try:
        for number in range(given.rounds):
            round_s = time.monotonic()
            left_s = given.minutes * 60 - (round_s - begun_s)
            if given.minutes and number and longest_s > left_s:
                _tell(
                    f"{left_s / 60:.0f} minutes are left, a round takes {longest_s / 60:.1f}: this is the end"
                )
                break
            _tell(f"round {number + 1} of {given.rounds}")
            done.rounds.append({})
            for system in systems if number % 2 == 0 else systems[::-1]:  # each is first equally often
                done.rounds[-1][system] = run_system(system, names, given.seconds, rates, done.failed)
                report.save(done, given.out)
            longest_s = max(longest_s, time.monotonic() - round_s)
            _tell(f"round {number + 1} took {longest_s / 60:.1f} minutes")
            report.save_table(done, given.out)
    except KeyboardInterrupt:
        _tell("interrupted")
    report.save(done, given.out)
    report.save_table(done, given.out)
    return done


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Measure and print, or draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replication")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--minutes", type=float, default=0, help="begin no round that would end later; 0: none"
    )
    parser.add_argument("--seconds", type=float, default=3, help="of a throughput cell")
    parser.add_argument("--systems", default=",".join(clusters.ALL))
    parser.add_argument("--cells", default="", help="measure cells whose names have this text")
    parser.add_argument("--out", type=Path, help="file for the figures, as JSON")
    parser.add_argument("--plot", type=Path, help="draw the figures of this file, and measure nothing")
    parser.add_argument("--to", type=Path, default=DOCUMENTS, help="folder for pictures and tables")
    given = parser.parse_args()
    if given.plot:
        done = report.load(given.plot)
        plots.draw(done, given.to)
        (given.to / "copies.md").write_text(report.page(done))
        print(f"{given.to}: {', '.join(plots.NAMES)}, copies.md")
        return
    if report.THEIRS in given.systems.split(",") and (missing := Apache(report.THEIRS, "4").missing()):
        parser.error(f"Apache Kafka cannot be measured: {missing}")
    signal.signal(signal.SIGTERM, _interrupt)
    done = run(given)
    print(f"\n{report.table(done)}")
    sys.exit(1 if done.failed else 0)


if __name__ == "__main__":
    main()
