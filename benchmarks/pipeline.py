"""The delay of the paper's deployment, from a front end to the warehouse, and what it consists of.

    python -m benchmarks.pipeline [--rounds N] [--seconds S] [--rate R] [--to FOLDER]

Each round starts the deployment of ``make demo-pipeline`` anew, once for each interval of commits, sends a
few events until Spark is warm, and then events at an even rate. All programs share the cores of the machine,
and its clock. The figures are medians of the rounds, with the smallest and the largest. They are written to
``pipeline.json`` and ``pipeline.md`` in FOLDER (docs/performance).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.compare.machine import Watch, machine
from kafkatx.demo.pipeline.delays import Delays
from kafkatx.demo.pipeline.deployment import Deployment
from kafkatx.demo.pipeline.events import SITE_TOPICS, site_events
from kafkatx.demo.pipeline.feed import feed
from kafkatx.demo.pipeline.report import READ_IN_DC1, READ_IN_DC2, stage_delays
from kafkatx.demo.pipeline.servers.frontend import LINGER_MS
from kafkatx.demo.pipeline.warehouse import Warehouse

DOCUMENTS = Path(__file__).parents[1] / "docs" / "performance"
INTERVALS_S = (1.0, 5.0)
WARM_EVENTS, WARM_TIMES = 10, 3
WAIT_S = 120.0
PERCENTILES = (50.0, 95.0, 99.0)

Figures = dict[str, float]


def wait_for_rows(warehouse: Warehouse, rows: int) -> None:
    """Wait until a number of rows is committed."""
    deadline_s = time.monotonic() + WAIT_S
    while warehouse.rows() < rows:
        if time.monotonic() > deadline_s:
            raise SystemExit(f"{warehouse.rows()} of {rows} rows are in the table after {WAIT_S:g} s")
        time.sleep(0.1)


def measure(commit_every_s: float, seconds: float, rate: float) -> Figures:
    """Start the deployment, send events, and return the figures in seconds."""
    with tempfile.TemporaryDirectory(prefix="kafkatx-pipeline-") as folder:
        made = Deployment(Path(folder), SITE_TOPICS, lambda *_: None, commit_every_s=commit_every_s)
        with made as deployment:
            deployment.start()
            warehouse = Warehouse(deployment.table)
            inputs = [program.stdin for program in deployment.front_ends if program.stdin]
            sent = 0
            for _ in range(WARM_TIMES):
                sent += feed(site_events(WARM_EVENTS), inputs, None, lambda _: None)
                wait_for_rows(warehouse, sent)
            warm = len(warehouse.commits)
            sent += feed(site_events(round(seconds * rate)), inputs, rate, lambda _: None)
            wait_for_rows(warehouse, sent)
            deployment.stop_readers()
            found = stage_delays(deployment, warehouse)
            table = warehouse.delays(first=warm)
            return figures(found[READ_IN_DC1], found[READ_IN_DC2], table, warehouse, warm)


def figures(dc1: Delays, dc2: Delays, table: Delays, warehouse: Warehouse, warm: int) -> Figures:
    """Return the figures of a round in seconds."""
    found: Figures = {}
    for name, delays in (("dc1", dc1), ("dc2", dc2), ("table", table)):
        for percent in PERCENTILES:
            found[f"{name} {percent:g}"] = (delays.percentile(percent) or 0) / 1000
    commits = warehouse.commits[warm:]
    seen_ms = [warehouse.visible_ms(manifest) for manifest in commits]
    found["commits"] = len(commits)
    found["between commits"] = statistics.median(b - a for a, b in pairwise(seen_ms)) / 1000
    # The youngest record of a commit came just before the batch was planned.
    youngest = [warehouse.delays_of(manifest).percentile(0) or 0 for manifest in commits]
    found["batch"] = max(statistics.median(youngest) / 1000 - found["dc2 50"], 0.0)
    found["mirror"] = found["dc2 50"] - found["dc1 50"]
    found["waiting"] = max(found["table 50"] - found["dc2 50"] - found["batch"], 0.0)
    return found


def cell(rounds: Sequence[Figures], name: str) -> str:
    """Return the median of the rounds, with the smallest and the largest."""
    values = [one[name] for one in rounds]
    digits = 3 if statistics.median(values) < 0.5 else 2
    low, middle, high = (f"{x:.{digits}f}" for x in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low}-{high})"


def document(runs: dict[float, list[Figures]], seconds: float, rate: float, about: str) -> str:
    """Return the page's part with the figures."""
    rounds = len(next(iter(runs.values())))
    heads = [f"a commit every {interval:g} s" for interval in runs]
    lines = [
        f"Median of {rounds} rounds (smallest-largest), in seconds. Each had {rate:g} messages a second,",
        f"for {seconds:g} seconds, after Spark was warm. {about}.",
        "",
        f"| | {' | '.join(heads)} |",
        f"|---|{'---|' * len(heads)}",
    ]
    rows = [
        *((f"read by a service in dc1, {_word(p)}", f"dc1 {p:g}") for p in PERCENTILES),
        *((f"read in dc2, {_word(p)}", f"dc2 {p:g}") for p in PERCENTILES),
        *((f"**in the warehouse, {_word(p)}**", f"table {p:g}") for p in PERCENTILES),
        (f"the median consists of: front end (linger {LINGER_MS} ms), brokers of dc1, fetch", "dc1 50"),
        ("mirror: fetch in dc1, write in dc2, fetch there", "mirror"),
        ("waiting for the next batch of Spark", "waiting"),
        ("that batch: plan, read, Parquet, commit of the manifest", "batch"),
        ("time between two commits", "between commits"),
    ]
    lines += [
        f"| {word} | {' | '.join(cell(found, name) for found in runs.values())} |" for word, name in rows
    ]
    return "\n".join(lines) + "\n"


def _word(percent: float) -> str:
    return "median" if percent == 50 else f"{percent:g}%"


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--to", default=str(DOCUMENTS))
    a = parser.parse_args()
    runs: dict[float, list[Figures]] = {interval: [] for interval in INTERVALS_S}
    watch = Watch()
    for number in range(1, a.rounds + 1):
        for interval, found in runs.items():
            found.append(measure(interval, a.seconds, a.rate))
            told = ", ".join(f"{name} {value:.2f}" for name, value in found[-1].items())
            print(f"round {number}, a commit every {interval:g} s: {told}", flush=True)
    about = machine()
    told = f"All programs shared {about.get('cores', '?')} cores"
    text = document(runs, a.seconds, a.rate, told)
    print(text)
    folder = Path(a.to)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.md").write_text(text)
    kept = {
        "machine": about,
        "stolen_percent": round(watch.stolen_percent(), 1),
        "rounds": {str(k): v for k, v in runs.items()},
    }
    (folder / "pipeline.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
