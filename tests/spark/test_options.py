"""The options of a batch query."""

from __future__ import annotations

import pickle
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark import client_options, options
from kafkatx.spark.offsets import EARLIEST, LATEST
from kafkatx.spark.options import Assign, Subscribe, SubscribePattern, parse_batch
from kafkatx.types import TopicPartition

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
T0 = TopicPartition("t", 0)
DOCS = Path(__file__).resolve().parent.parent.parent / "docs/spark.md"


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

    def test_not_yet(self) -> None:
        """Options of Spark's source that would change what is read are refused, not ignored."""
        for name in ("startingTimestamp", "endingOffsetsByTimestamp", "maxRecordsPerPartition"):
            self.assertIn(f"option {name} is not supported yet", self.refused(**{name: "1"}))

    def test_without_effect(self) -> None:
        """Options that change nothing in a batch, and what Spark adds by itself, are let pass."""
        plain = parse_batch({**BASE, "subscribe": "t"})
        ignored = {"maxOffsetsPerTrigger": "5", "groupIdPrefix": "g", "path": "somewhere"}
        self.assertEqual(parse_batch({**BASE, "subscribe": "t", **ignored}), plain)

    def test_bad_values(self) -> None:
        """A bad value is refused, naming option and value."""
        self.assertIn("minPartitions=0", self.refused(minPartitions="0"))
        self.assertIn("includeHeaders=maybe", self.refused(includeHeaders="maybe"))
        self.assertIn("failOnDataLoss=1", self.refused(failOnDataLoss="1"))

    def test_pickled(self) -> None:
        """The options survive the way to the workers."""
        options = parse_batch({**BASE, "assign": '{"t":[0,1]}', "startingOffsets": '{"t":{"0":3,"1":-2}}'})
        self.assertEqual(pickle.loads(pickle.dumps(options)), options)


class DocsTests(SynchronousTestCase):
    def test_every_option(self) -> None:
        """docs/spark.md has every option: heeded, refused, not there yet, and without effect."""
        text = DOCS.read_text()
        client = [*client_options._HEEDED, *client_options._REFUSED, *client_options._ONLY]
        names = [
            *options._HEEDED,
            *options._NOT_YET,
            *options._WITHOUT_EFFECT,
            *(f"kafka.{n}" for n in client),
        ]
        added_by_spark = {"path", "paths"}
        missing = [name for name in names if f"`{name}" not in text and name not in added_by_spark]
        self.assertEqual(missing, [])
