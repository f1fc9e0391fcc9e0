"""Web server logs with known facts: a real one where it is there, and a small one that always is."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent.parent


@attrs.frozen
class LogFacts:
    """Counts of an access log. Hours are UTC; ``md5`` is of the lines with their newlines."""

    rows: int
    statuses: dict[str, int]
    clients: int
    busiest_clients: tuple[tuple[str, int], ...]
    per_day: tuple[int, ...]
    busiest_hour: tuple[datetime, int]
    bytes_sent: int
    md5: str


REAL_FACTS = LogFacts(
    rows=10_000,
    statuses={"200": 9126, "304": 445, "404": 213, "301": 164, "206": 45, "500": 3, "416": 2, "403": 2},
    clients=1753,
    busiest_clients=(("66.249.73.135", 482), ("46.105.14.53", 364), ("130.237.218.86", 357)),
    per_day=(1632, 2893, 2896, 2579),
    busiest_hour=(datetime(2015, 5, 19, 19, tzinfo=timezone.utc), 136),
    bytes_sent=2747282740,
    md5="31fb7df350b247b6c38a9bf8179916be",
)
"""As counted with awk on the unpacked file, in the README.md beside it."""


def real_log() -> bytes | None:
    """``shared/data/access.log.gz`` beside the repository or above it, unpacked; None where it is not."""
    for folder in (ROOT, *ROOT.parents):
        path = folder / "shared/data/access.log.gz"
        if path.exists():
            return gzip.decompress(path.read_bytes())
    return None


def small_log() -> tuple[bytes, LogFacts]:
    """200 lines of the same format, over two days and in two time zones, and their facts."""
    start = datetime(2015, 5, 17, 10, 5, tzinfo=timezone.utc)
    lines, hours, days, clients, statuses = (
        [],
        Counter[datetime](),
        Counter[str](),
        Counter[str](),
        Counter[str](),
    )
    bytes_sent = 0
    for number in range(200):
        # Quadratic, so that hours have different numbers of lines.
        moment = start + timedelta(seconds=3 * number * number)
        client = f"10.0.0.{number % 7 * (number % 3)}"
        status = ("200", "200", "304", "404")[number % 4]
        size = None if status == "304" else number * 1000
        zone = timezone(timedelta(hours=2 * (number % 2)))
        lines.append(
            f"{client} - - [{moment.astimezone(zone):%d/%b/%Y:%H:%M:%S %z}] "
            f'"GET /page-{number}.html HTTP/1.1" {status} {"-" if size is None else size} "-" "caf\u00e9"'
        )
        hours[moment.replace(minute=0, second=0)] += 1
        days[f"{moment:%F}"] += 1
        clients[client] += 1
        statuses[status] += 1
        bytes_sent += size or 0
    data = "\n".join([*lines, ""]).encode()
    most = max(hours.values())
    facts = LogFacts(
        rows=200,
        statuses=dict(statuses),
        clients=len(clients),
        busiest_clients=tuple(sorted(clients.items(), key=lambda item: (-item[1], item[0]))[:3]),
        per_day=tuple(count for _, count in sorted(days.items())),
        busiest_hour=(min(hour for hour, count in hours.items() if count == most), most),
        bytes_sent=bytes_sent,
        md5=hashlib.md5(data).hexdigest(),
    )
    return data, facts
