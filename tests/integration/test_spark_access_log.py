"""A web server's log through the writer, the broker and PySpark to Parquet: every fact comes out again."""

from __future__ import annotations

import hashlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from tests.integration.access_log import LogFacts, small_log
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.integration.spark import shared_spark

PARSED = (
    "regexp_extract(line, '^([^ ]+)', 1) AS client",
    "regexp_extract(line, '\" ([0-9]{3}) ', 1) AS status",
    "try_cast(regexp_extract(line, '\" [0-9]{3} ([0-9]+)', 1) AS bigint) AS size",
    "to_timestamp("
    "regexp_extract(line, '[0-9]+/[A-Z][a-z]+/[0-9:]+ [+-][0-9]+', 0), 'dd/MMM/yyyy:HH:mm:ss Z') AS time",
)


class AccessLogCase(SynchronousTestCase):
    """Sends a log through, and counts its facts."""

    def ingest(self, data: bytes) -> Any:
        """Each line a record of one partition, read by PySpark and written as Parquet; the table of that."""
        bootstrap = shared_broker().bootstrap
        topic = new_topic()
        with Cluster(bootstrap) as cluster:
            Admin(cluster).create_topic(topic, 1)
            with Writer(cluster, topic, compression="lz4") as writer:
                writer.send_lines(data.splitlines())
        frame = (
            shared_spark()
            .read.format("kafkatx")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", topic)
            .option("minPartitions", "3")
            .load()
        )
        folder = str(Path(self.mktemp()).resolve())
        frame.write.parquet(folder)
        return shared_spark().read.parquet(folder)

    def facts(self, table: Any) -> LogFacts:
        """Count with Spark what there is to count, and join the lines in order of their offsets."""
        lines = table.selectExpr("cast(value AS string) AS line").selectExpr(*PARSED)
        lines.selectExpr("*", "date_trunc('hour', time) AS hour").createOrReplaceTempView("access_log")
        rows, clients, bytes_sent = self.sql("SELECT count(*), count(DISTINCT client), sum(size)")[0]
        statuses = self.sql("SELECT status, count(*) GROUP BY status")
        busiest = self.sql("SELECT client, count(*) AS n GROUP BY client ORDER BY n DESC, client LIMIT 3")
        days = self.sql("SELECT count(*) GROUP BY date(hour) ORDER BY date(hour)")
        hour = self.sql(
            "SELECT unix_seconds(hour) AS h, count(*) AS n GROUP BY h ORDER BY n DESC, h LIMIT 1"
        )[0]
        values = [bytes(row.value) for row in table.orderBy("offset").select("value").collect()]
        return LogFacts(
            rows=rows,
            statuses=dict(statuses),
            clients=clients,
            busiest_clients=tuple((client, count) for client, count in busiest),
            per_day=tuple(count for (count,) in days),
            busiest_hour=(datetime.fromtimestamp(hour[0], timezone.utc), hour[1]),
            bytes_sent=bytes_sent,
            md5=hashlib.md5(b"".join(value + b"\n" for value in values)).hexdigest(),
        )

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query over the log."""
        select, group, rest = query.partition(" GROUP BY ")
        rows = shared_spark().sql(f"{select} FROM access_log{group}{rest}").collect()
        return [tuple(row) for row in rows]


class AccessLogTests(AccessLogCase):
    def test_small_log(self) -> None:
        """Every fact of a log made for the test, whose facts were counted as it was made."""
        data, expected = small_log()
        self.assertEqual(self.facts(self.ingest(data)), expected)
