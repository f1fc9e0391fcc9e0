"""The options of a query."""

from __future__ import annotations

import pickle

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.offsets import EARLIEST, LATEST
from kafkatx.spark.options import client as client_options
from kafkatx.spark.options import names as option_names
from kafkatx.spark.options.boundaries import ByTimestamp
from kafkatx.spark.options.limits import Limits
from kafkatx.spark.options.options import (
    Assign,
    SourceOptions,
    Subscribe,
    SubscribePattern,
    parse_batch,
    parse_headers,
    parse_stream,
)
from kafkatx.types import TopicPartition
from tests.test_readme import ROOT

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
T0 = TopicPartition("t", 0)
DOCS = ROOT / "docs/spark.md"


class ParseBatchTests(SynchronousTestCase):
    def refused(self, **options: str) -> str:
        """The message with which options, beside a bootstrap server and a topic, are refused."""
        options = {"subscribe": "t", **options}
        return str(self.assertRaises(SettingError, parse_batch, {**BASE, **options}))

    def test_defaults(self) -> None:
        """A topic is read from its earliest to its latest offset, and data loss is an error."""
        options = parse_batch({**BASE, "subscribe": "t"})
        self.assertEqual((options.starting, options.ending), (EARLIEST, LATEST))
        self.assertEqual(options.selection, Subscribe(("t",)))
        self.assertIs(options.include_headers, False)
        self.assertIs(options.min_partitions, None)
        self.assertIs(options.fail_on_data_loss, True)

    def test_any_case(self) -> None:
        """Names are the same in any case."""
        options = parse_batch(
            {
                "KAFKA.Bootstrap.Servers": "h:1",
                "SUBSCRIBE": "t",
                "startingoffsets": "earliest",
                "IncludeHeaders": "True",
                "MINpartitions": "7",
                "failOnDataLoss": "FALSE",
            }
        )
        self.assertEqual(options.client.bootstrap, "h:1")
        self.assertIs(options.include_headers, True)
        self.assertEqual(options.min_partitions, 7)
        self.assertIs(options.fail_on_data_loss, False)

    def test_selections(self) -> None:
        """Topics by name, each once; by pattern; or partitions one by one."""
        for name, value, selection in (
            ("subscribe", " a, b,,a", Subscribe(("a", "b"))),
            ("subscribePattern", "logs-.*", SubscribePattern("logs-.*")),
            ("assign", '{"t":[0]}', Assign(frozenset({T0}))),
        ):
            self.assertEqual(parse_batch({**BASE, name: value}).selection, selection)

    def test_exactly_one_selection(self) -> None:
        """None and two of the three are refused with the names of all three."""
        error = self.assertRaises(SettingError, parse_batch, BASE)
        self.assertIn("One of the following options must be specified", str(error))
        self.assertIn("subscribe, subscribePattern, assign", str(error))
        self.assertIn("Only one of the following options can", self.refused(assign='{"t":[0]}'))

    def test_empty_selections(self) -> None:
        """A selection of nothing is refused by its name."""
        for name, value in (("subscribe", ", "), ("subscribePattern", ""), ("assign", "{}"), ("assign", "t")):
            error = self.assertRaises(SettingError, parse_batch, {**BASE, name: value})
            self.assertIn(name, str(error))
        error = self.assertRaises(SettingError, parse_batch, {**BASE, "subscribePattern": "a("})
        self.assertIn("subscribePattern=a(", str(error))

    def test_offsets(self) -> None:
        """Boundaries by partition arrive."""
        options = parse_batch(
            {**BASE, "subscribe": "t", "startingOffsets": '{"t":{"0":3}}', "endingOffsets": '{"t":{"0":9}}'}
        )
        self.assertEqual((options.starting, options.ending), ({T0: 3}, {T0: 9}))

    def test_start_is_not_latest(self) -> None:
        """A batch cannot start at the latest offset, be it for all partitions or for one."""
        self.assertIn("startingOffsets can't be latest", self.refused(startingOffsets="latest"))
        self.assertIn("startingOffsets for t-0 can't", self.refused(startingOffsets='{"t":{"0":-1}}'))

    def test_end_is_not_earliest(self) -> None:
        """A batch cannot end at the earliest offset, be it for all partitions or for one."""
        self.assertIn("endingOffsets can't be earliest", self.refused(endingOffsets="earliest"))
        self.assertIn("endingOffsets for t-0 can't", self.refused(endingOffsets='{"t":{"0":-2}}'))

    def test_boundaries_fit(self) -> None:
        """Both boundaries name the same partitions, and no end is before its start."""
        both = {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'}
        self.assertIn("startingOffsets for t-0, 5, is greater", self.refused(**both))
        both["endingOffsets"] = '{"t":{"1":6}}'
        self.assertIn("t-0, t-1", self.refused(**both))
        both["endingOffsets"] = '{"t":{"0":-1}}'
        parse_batch({**BASE, "subscribe": "t", **both})

    def test_unknown_names(self) -> None:
        """An unknown name is refused with the nearest that there is."""
        for name, nearest in (
            ("startingOffset", "startingOffsets"),
            ("minpartition", "minPartitions"),
            ("failOnDataLost", "failOnDataLoss"),
            ("bootstrap.servers", "kafka.bootstrap.servers"),
        ):
            self.assertIn(f"did you mean {nearest}?", self.refused(**{name: "1"}))
        self.assertIn("unknown option colour: there are subscribe", self.refused(colour="red"))

    def test_without_effect(self) -> None:
        """Options of the JVM's consumer, and what Spark adds by itself, are let pass."""
        plain = parse_batch({**BASE, "subscribe": "t"})
        ignored = {"kafkaConsumer.pollTimeoutMs": "5", "path": "somewhere"}
        self.assertEqual(parse_batch({**BASE, "subscribe": "t", **ignored}), plain)

    def test_of_streams(self) -> None:
        """Options of streams are ignored with the warning that Spark's source gives."""
        given = {"MaxOffsetsPerTrigger": "5", "maxTriggerDelay": "1m", "minOffsetsPerTrigger": "2"}
        parsed = parse_batch({**BASE, "subscribe": "t", **given})
        self.assertEqual(
            parsed.warnings,
            (
                "maxOffsetsPerTrigger option ignored in batch queries",
                "minOffsetsPerTrigger option ignored in batch queries",
                "maxTriggerDelay option ignored in batch queries",
            ),
        )

    def test_groups(self) -> None:
        """A group is warned of, as by Spark's source, and becomes a part of the client id."""
        parsed = parse_batch({**BASE, "subscribe": "t", "kafka.group.id": "g", "groupIdPrefix": "p"})
        self.assertEqual(parsed.client.client_id, "kafkatx-spark-g")
        self.assertIn("no consumer group is joined", parsed.warnings[0])
        self.assertIn("groupIdPrefix will be ignored", parsed.warnings[1])
        parsed = parse_batch({**BASE, "subscribe": "t", "groupIdPrefix": "p"})
        self.assertEqual((parsed.client.client_id, parsed.warnings), ("kafkatx-spark-p", ()))

    def test_numbers(self) -> None:
        """The numbers of tasks, records of a task, attempts and pauses are read."""
        parsed = parse_batch(
            {
                **BASE,
                "subscribe": "t",
                "maxRecordsPerPartition": "5000000000",
                "fetchOffset.numRetries": "5",
                "fetchOffset.retryIntervalMs": "0",
            }
        )
        found = (parsed.max_records_per_partition, parsed.attempts, parsed.retry_interval_ms)
        self.assertEqual(found, (5_000_000_000, 5, 0))

    def test_bad_values(self) -> None:
        """A bad value is refused, naming option and value."""
        self.assertIn("minPartitions=0", self.refused(minPartitions="0"))
        self.assertIn("includeHeaders=maybe", self.refused(includeHeaders="maybe"))
        self.assertIn("failOnDataLoss=1", self.refused(failOnDataLoss="1"))
        self.assertIn("maxRecordsPerPartition=0", self.refused(maxRecordsPerPartition="0"))
        for name in ("fetchOffset.numRetries", "fetchOffset.retryIntervalMs"):
            self.assertIn(f"{name}=-1", self.refused(**{name: "-1"}))

    def test_pickled(self) -> None:
        """The options survive the way to the workers."""
        options = parse_batch({**BASE, "assign": '{"t":[0,1]}', "startingOffsets": '{"t":{"0":3,"1":-2}}'})
        self.assertEqual(pickle.loads(pickle.dumps(options)), options)


class ParseStreamTests(SynchronousTestCase):
    def parse(self, **options: str) -> SourceOptions:
        """Options of a stream of one topic."""
        return parse_stream({**BASE, "subscribe": "t", **options})

    def refused(self, **options: str) -> str:
        """The message with which they are refused."""
        return str(self.assertRaises(SettingError, self.parse, **options))

    def test_defaults(self) -> None:
        """A stream starts at the latest offset and reads all that there is each time."""
        options = self.parse()
        self.assertEqual((options.starting, options.limits), (LATEST, Limits(None, None, 900_000)))
        self.assertEqual((options.attempts, options.retry_interval_ms), (3, 1000))

    def test_starting(self) -> None:
        """A stream may start anywhere."""
        self.assertEqual(self.parse(startingOffsets="earliest").starting, EARLIEST)
        self.assertEqual(self.parse(startingOffsets='{"t":{"0":-1}}').starting, {T0: -1})
        expected = ByTimestamp("startingTimestamp", 5, or_latest=False)
        self.assertEqual(self.parse(startingTimestamp="5").starting, expected)

    def test_no_end(self) -> None:
        """An end is refused by its name."""
        for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
            self.assertIn(
                f"{name}: ending offset not valid in streaming queries", self.refused(**{name: "5"})
            )

    def test_limits(self) -> None:
        """Limits arrive, in any case; the least is not above the most."""
        given = {"MAXOFFSETSPERTRIGGER": "100", "minoffsetspertrigger": "10", "maxTriggerDelay": "2m"}
        self.assertEqual(self.parse(**given).limits, Limits(100, 10, 120_000))
        said = self.refused(maxOffsetsPerTrigger="5", minOffsetsPerTrigger="6")
        self.assertIn("minOffsetsPerTrigger(6) is higher than the maxOffsetsPerTrigger(5)", said)
        for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"):
            self.assertIn(f"{name}=0x", self.refused(**{name: "0x"}))

    def test_pickled(self) -> None:
        """The options survive the way to the workers."""
        options = self.parse(startingTimestamp="5", maxOffsetsPerTrigger="3")
        self.assertEqual(pickle.loads(pickle.dumps(options)), options)


class ParseHeadersTests(SynchronousTestCase):
    def test_either(self) -> None:
        """Options of batches alone and of streams alone are accepted: the kind of query is known later."""
        for given in ({"startingOffsets": "latest"}, {"endingOffsets": "latest", "IncludeHeaders": "TRUE"}):
            self.assertIs(parse_headers({**BASE, "subscribe": "t", **given}), "IncludeHeaders" in given)

    def test_bad(self) -> None:
        """An option that no query may have is an error already here."""
        for name in (
            "startingOffsets",
            "startingTimestamp",
            "startingOffsetsByTimestamp",
            "startingOffsetsByTimestampStrategy",
            "endingOffsets",
            "endingTimestamp",
            "endingOffsetsByTimestamp",
            "maxOffsetsPerTrigger",
            "minPartitions",
            "failOnDataLoss",
            "nonsense",
        ):
            error = self.assertRaises(SettingError, parse_headers, {**BASE, "subscribe": "t", name: "?"})
            self.assertIn(name, str(error))


class DocsTests(SynchronousTestCase):
    def test_every_option(self) -> None:
        """docs/spark.md has every option: heeded, refused, and without effect."""
        text = DOCS.read_text()
        client = [*client_options._HEEDED, *client_options._REFUSED]
        names = [
            *option_names.OF_ALL,
            *option_names.OF_BATCHES,
            *option_names.OF_STREAMS,
            *option_names.WITHOUT_EFFECT,
            *(f"kafka.{n}" for n in client),
        ]
        added_by_spark = {"path", "paths"}
        missing = [name for name in names if f"`{name}" not in text and name not in added_by_spark]
        self.assertEqual(missing, [])
