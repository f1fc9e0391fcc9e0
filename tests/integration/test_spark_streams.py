"""The streams library and its examples on an access log whose facts are known, with real Spark and broker."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.errors import SettingError
from kafkatx.spark.streams import (
    deduplicate,
    in_partitions,
    join_table,
    join_within,
    latest,
    session,
    sliding,
    top,
    tumbling,
)
from tests.integration.access_log import REAL_FACTS, LogFacts, real_log, small_log
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.integration.spark import ROOT, shared_spark

EXAMPLES = str(ROOT / "docs/examples/streams")
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def example(name: str, *arguments: str) -> list[str]:
    """The lines that an example prints, run in this process's Spark."""
    sys.path.insert(0, EXAMPLES)
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove(EXAMPLES)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.main(shared_spark(), shared_broker().bootstrap, *arguments)
    return printed.getvalue().splitlines()


def send(topic: str, records: list[tuple[bytes, bytes | None]]) -> None:
    """Produce keys and values; the key chooses the partition."""
    with Cluster(shared_broker().bootstrap) as cluster, Writer(cluster, topic) as writer:
        for key, value in records:
            writer.send(value, key=key)


def log_topic(lines: list[bytes]) -> str:
    """A new topic of two partitions with the lines, each under its client."""
    topic = new_topic()
    with Cluster(shared_broker().bootstrap) as cluster:
        Admin(cluster).create_topic(topic, 2)
    send(topic, [(line.split(b" ", 1)[0], line) for line in lines])
    return topic


def access_log() -> tuple[list[bytes], LogFacts]:
    """The real log where it is there, else the small one."""
    data = real_log()
    if data is not None:
        return data.splitlines(), REAL_FACTS
    data, facts = small_log()
    return data.splitlines(), facts


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """A DataFrame's rows, in order."""
    return sorted(tuple(row) for row in frame.collect())


class ExampleTests(SynchronousTestCase):
    def test_hits_per_hour(self) -> None:
        """A stream that takes what is there counts each hour; run again in pieces, late lines count too."""
        lines, facts = access_log()
        # The later half first: all of the earlier half is late, by days.
        first, second = lines[len(lines) // 2 :], lines[: len(lines) // 2]
        topic = log_topic(first)
        checkpoint = str(Path(self.mktemp()).resolve())
        before = example("hits_per_hour", topic, checkpoint)
        self.assertEqual(sum(int(line.split()[2]) for line in before), len(first))
        send(topic, [(line.split(b" ", 1)[0], line) for line in second])
        hours = [line.split() for line in example("hits_per_hour", topic, checkpoint)]
        self.assertEqual(sum(int(hour[2]) for hour in hours), facts.rows)
        self.assertEqual(sum(int(hour[3]) for hour in hours if hour[3] != "None"), facts.bytes_sent)
        moment, most = facts.busiest_hour
        self.assertIn((f"{moment:%Y-%m-%d}", f"{moment:%H:%M}", str(most)), [tuple(h[:3]) for h in hours])
        per_day = Counter[str]()
        for hour in hours:
            per_day[hour[0]] += int(hour[2])
        self.assertEqual(tuple(per_day[day] for day in sorted(per_day)), facts.per_day)

    def test_batch_examples(self) -> None:
        """Busiest clients by day, visits, and hits per client agree with what Python counts."""
        lines, facts = access_log()
        topic = log_topic(lines)
        busiest = example("hits_per_client", topic)
        self.assertEqual(busiest, [f"{client} {count}" for client, count in facts.busiest_clients])
        days = example("busiest_clients", topic)
        self.assertEqual(len(days), 3 * len(facts.per_day))
        self.assertEqual(days, counted_by_day(lines))
        visits = example("visits", topic)
        self.assertEqual(visits[0], f"{count_visits(lines)} visits")

    def test_joins(self) -> None:
        """Pages find the images asked for soon after, and clients find their names in a compacted topic."""
        lines, facts = access_log()
        topic = log_topic(lines)
        self.assertEqual(example("pages_and_images", topic)[0], f"{count_pairs(lines)} pairs")
        names = new_topic()
        busiest = facts.busiest_clients
        send(
            names,
            [
                (busiest[0][0].encode(), b"old name"),
                (busiest[1][0].encode(), b"gone"),
                (busiest[0][0].encode(), b"robot"),
                (busiest[1][0].encode(), None),
            ],
        )
        checkpoint = str(Path(self.mktemp()).resolve())
        self.assertEqual(example("named_clients", topic, names, checkpoint), [f"robot {busiest[0][1]}"])


def parsed(lines: list[bytes]) -> list[tuple[str, datetime, str]]:
    """Client, time and path of each line, by Python alone."""
    found = []
    for line in lines:
        text = line.decode()
        moment = text.split("[", 1)[1].split("]", 1)[0]
        path = text.split('"', 1)[1].split('"', 1)[0].split(" ")[1]
        found.append((text.split(" ", 1)[0], datetime.strptime(moment, "%d/%b/%Y:%H:%M:%S %z"), path))
    return found


def counted_by_day(lines: list[bytes]) -> list[str]:
    """Run busiest_clients.py and return its output."""
    days: dict[str, Counter[str]] = {}
    for client, moment, _ in parsed(lines):
        days.setdefault(f"{moment.astimezone(timezone.utc):%Y-%m-%d}", Counter())[client] += 1
    printed = []
    for day, clients in sorted(days.items()):
        best = sorted(clients.items(), key=lambda item: (-item[1], item[0]))[:3]
        printed += [f"{day} {rank}. {client} {n}" for rank, (client, n) in enumerate(best, 1)]
    return printed


def count_visits(lines: list[bytes]) -> int:
    """Count the visits: a client's return after more than half an hour, or its first hit."""
    last: dict[str, datetime] = {}
    visits = 0
    for client, moment, _ in sorted(parsed(lines), key=lambda hit: hit[1]):
        if client not in last or moment - last[client] > timedelta(minutes=30):
            visits += 1
        last[client] = moment
    return visits


def count_pairs(lines: list[bytes]) -> int:
    """Count the (page, image) pairs of a client within ten seconds, the image not before the page."""
    pages: dict[str, list[datetime]] = {}
    images: dict[str, list[datetime]] = {}
    for client, moment, path in parsed(lines):
        kind = images if path.endswith((".png", ".jpg", ".gif", ".ico")) else pages
        kind.setdefault(client, []).append(moment)
    most = timedelta(seconds=10)
    return sum(
        timedelta(0) <= image - page <= most
        for client, moments in pages.items()
        for page in moments
        for image in images.get(client, ())
    )


class StreamsTests(SynchronousTestCase):
    def frame(self, *hits: tuple[int, str, int]) -> Any:
        """A batch of (minute, client, bytes)."""
        moments = [(START + timedelta(minutes=minute), client, size) for minute, client, size in hits]
        return shared_spark().createDataFrame(moments, "time timestamp, client string, bytes int")

    def test_windows(self) -> None:
        """Windows that follow each other, that overlap, and that end with a pause count what is in them."""
        hits = self.frame((1, "a", 10), (59, "a", 20), (60, "b", 5), (61, "a", 1))
        hours = tumbling(hits, "1 hour", late="1 hour", time="time", by=["client"], sums=["bytes"])
        self.assertEqual(
            [(minutes(w.start), minutes(w.end), *rest) for w, *rest in rows(hours)],
            [(0, 60, "a", 2, 30), (60, 120, "a", 1, 1), (60, 120, "b", 1, 5)],
        )
        overlapping = sliding(hits, "1 hour", "30 minutes", late="1 hour", time="time")
        self.assertEqual(
            [(minutes(w.start), n) for w, n in rows(overlapping)], [(-30, 1), (0, 2), (30, 3), (60, 2)]
        )
        visits = session(hits, "10 minutes", late="1 hour", time="time", by=["client"])
        self.assertEqual(
            [(minutes(w.start), minutes(w.end), client, n) for w, client, n in rows(visits)],
            [(1, 11, "a", 1), (59, 71, "a", 2), (60, 70, "b", 1)],
        )

    def test_top(self) -> None:
        """The largest of each window are ranked, equal ones by name; what cannot be ranked is refused."""
        hits = self.frame(*[(0, name, 1) for name in "abbccd"], (60, "z", 1))
        hours = tumbling(hits, "1 hour", late="1 hour", time="time", by=["client"])
        best = [(minutes(w.start), *rest) for w, *rest in rows(top(hours, 3))]
        self.assertEqual(best, [(0, "a", 1, 3), (0, "b", 2, 1), (0, "c", 2, 2), (60, "z", 1, 1)])
        self.assertIn("at least 1", str(self.assertRaises(SettingError, top, hours, 0)))
        self.assertIn("'sum_x'", str(self.assertRaises(SettingError, top, hours, 1, by="sum_x")))

    def test_deduplicate(self) -> None:
        """The earliest record of each key stays."""
        hits = self.frame((5, "a", 2), (1, "a", 1), (9, "b", 3))
        kept = deduplicate(hits, ["client"], within="1 hour", time="time")
        self.assertEqual(rows(kept.select("client", "bytes")), [("a", 1), ("b", 3)])

    def test_join_within(self) -> None:
        """Records are paired where times are near; an outer join tells of those that found none."""
        left = self.frame((0, "a", 1), (30, "a", 2), (0, "b", 3))
        right = self.frame((5, "a", 10), (11, "a", 20)).withColumnRenamed("bytes", "size")
        pairs = join_within(
            left,
            right,
            ["client"],
            before="1 minute",
            after="10 minutes",
            late="1 hour",
            how="left_outer",
            left_time="time",
            right_time="time",
        )
        self.assertEqual(pairs.columns, ["client", "left_time", "bytes", "right_time", "size"])
        self.assertEqual(
            sorted(tuple(row) for row in pairs.selectExpr("client", "bytes", "coalesce(size, 0)").collect()),
            [("a", 1, 10), ("a", 2, 0), ("b", 3, 0)],
        )

    def test_join_table(self) -> None:
        """A record finds its row in the table; of a compacted topic only the latest of a key counts."""
        spark = shared_spark()
        topic = spark.createDataFrame(
            [("a", "old", 0, 1), ("a", "new", 1, 1), ("b", "gone", 2, 1), ("b", None, 3, 1)],
            "key string, value string, offset bigint, timestamp bigint",
        )
        names = latest(topic).selectExpr("key AS client", "value AS name")
        self.assertEqual(rows(names), [("a", "new")])
        hits = self.frame((0, "a", 1), (0, "b", 2)).select("client")
        self.assertEqual(rows(join_table(hits, names, ["client"], how="inner")), [("a", "new")])
        self.assertEqual(rows(join_table(hits, names, ["client"], how="left_anti")), [("b",)])

    def test_no_shuffle(self) -> None:
        """Counts within partitions need no shuffle; they are complete where a partition has all of a key."""
        hits = self.frame(*[(n, f"c{n % 3}", n) for n in range(30)]).repartition(2, "client")
        counted = in_partitions(hits, ["client"], sums=["bytes"])
        plan = counted._jdf.queryExecution().executedPlan().toString()
        self.assertEqual(plan.count("Exchange"), 1)  # the repartition that stands for the topic's own
        self.assertEqual(rows(counted), [("c0", 10, 135), ("c1", 10, 145), ("c2", 10, 155)])

    def test_no_stream_in_partitions(self) -> None:
        """A stream is refused there, with what to use in its place."""
        stream = shared_spark().readStream.format("rate").load()
        self.assertIn("tumbling", str(self.assertRaises(SettingError, in_partitions, stream, ["value"])))


def minutes(moment: datetime) -> int:
    """Minutes since :data:`START`; Spark gives local times without a zone."""
    return int((moment.astimezone(timezone.utc) - START).total_seconds() // 60)
