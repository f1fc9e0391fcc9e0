"""The start and the end of queries by time."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.offsets import EARLIEST, LATEST
from kafkatx.spark.options.boundaries import ByTimestamp, check_batch, parse_ending, parse_starting
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EACH = '{"t":{"0":10,"1":20}}'


class ParseTests(SynchronousTestCase):
    def refused(self, **given: str) -> str:
        """The message with which options, in lower case, are refused."""
        both = [lambda: parse_starting(given, EARLIEST), lambda: parse_ending(given)]
        return str(self.assertRaises(SettingError, lambda: [parse() for parse in both]))

    def test_default(self) -> None:
        """Without options there is a default for the start, and the end is the latest offset."""
        self.assertEqual((parse_starting({}, EARLIEST), parse_starting({}, LATEST)), (EARLIEST, LATEST))
        self.assertEqual(parse_ending({}), LATEST)

    def test_precedence(self) -> None:
        """A time for all counts before one for each, and that before offsets; others are not even read."""
        given = {"startingoffsets": "earliest", "endingoffsets": "latest"}
        self.assertEqual((parse_starting(given, LATEST), parse_ending(given)), (EARLIEST, LATEST))
        given |= {
            "startingoffsetsbytimestamp": EACH,
            "endingoffsetsbytimestamp": EACH,
            "startingoffsets": "?",
        }
        times = {T0: 10, T1: 20}
        self.assertEqual(
            parse_starting(given, LATEST), ByTimestamp("startingOffsetsByTimestamp", times, or_latest=False)
        )
        self.assertEqual(parse_ending(given), ByTimestamp("endingOffsetsByTimestamp", times))
        given |= {"startingtimestamp": " 5 ", "endingtimestamp": "6", "startingoffsetsbytimestamp": "?"}
        self.assertEqual(parse_starting(given, LATEST), ByTimestamp("startingTimestamp", 5, or_latest=False))
        self.assertEqual(parse_ending(given), ByTimestamp("endingTimestamp", 6))

    def test_strategy(self) -> None:
        """The strategy holds for both kinds of times, in any case of its words."""
        for option, value in (("startingtimestamp", "5"), ("startingoffsetsbytimestamp", EACH)):
            for strategy, or_latest in (("Latest", True), ("ERROR", False)):
                given = {option: value, "startingoffsetsbytimestampstrategy": strategy}
                parsed = parse_starting(given, EARLIEST)
                assert isinstance(parsed, ByTimestamp)
                self.assertIs(parsed.or_latest, or_latest)
        said = self.refused(startingoffsetsbytimestampstrategy="earliest")
        self.assertIn("startingOffsetsByTimestampStrategy=earliest: give error or latest", said)

    def test_bad_times(self) -> None:
        """A text that is no time is refused by the option's name."""
        for text in ("yesterday", "-1", "1.5", str(1 << 63), ""):
            self.assertIn(f"startingTimestamp={text}", self.refused(startingtimestamp=text))
            self.assertIn(f"endingTimestamp={text}", self.refused(endingtimestamp=text))
        for text in ("5", "{", '{"t":{"0":-1}}', '{"t":[0]}', '{"t":{"x":1}}', '{"t":{"0":true}}'):
            said = self.refused(startingoffsetsbytimestamp=text)
            self.assertIn("startingOffsetsByTimestamp", said)


class ByTimestampTests(SynchronousTestCase):
    def test_for_all(self) -> None:
        """One time holds for every partition."""
        self.assertEqual(ByTimestamp("startingTimestamp", 5).of([T1, T0]), {T0: 5, T1: 5})

    def test_for_each(self) -> None:
        """Times by partition must be of those that are read, no more and no less."""
        times = ByTimestamp("startingOffsetsByTimestamp", {T0: 5})
        self.assertEqual(times.of([T0]), {T0: 5})
        for partitions in ([T0, T1], [T1], []):
            said = str(self.assertRaises(SettingError, times.of, partitions))
            self.assertIn("startingOffsetsByTimestamp: if it contains", said)
            self.assertIn("Specified: t-0", said)

    def test_offset(self) -> None:
        """The offset that was found counts; where there was none, it is the latest or an error."""
        self.assertEqual(ByTimestamp("startingTimestamp", 5, or_latest=False).offset(T0, 0), 0)
        self.assertEqual(ByTimestamp("endingTimestamp", 5).offset(T0, -1), LATEST)
        for times in (7, {T0: 7}):
            strict = ByTimestamp("startingTimestamp", times, or_latest=False)
            said = str(self.assertRaises(SettingError, strict.offset, T0, -1))
            self.assertIn("No offset matched from request of topic-partition t-0 and timestamp 7", said)


class CheckBatchTests(SynchronousTestCase):
    def test_times(self) -> None:
        """Times by partition on both sides must be of the same ones, and in order."""
        early, late = ByTimestamp("a", {T0: 1}), ByTimestamp("b", {T0: 2})
        check_batch(early, late)
        check_batch(early, early)
        said = str(self.assertRaises(SettingError, check_batch, late, early))
        self.assertIn("b for t-0, 2, is greater than its a, 1", said)
        other = ByTimestamp("b", {T1: 2})
        self.assertIn("t-0, t-1", str(self.assertRaises(SettingError, check_batch, early, other)))

    def test_times_and_words(self) -> None:
        """A time on one side goes with anything on the other that a batch may have there."""
        time = ByTimestamp("a", 1)
        for boundary in (EARLIEST, {T0: 5}):
            check_batch(boundary, time)
        for boundary in (LATEST, {T0: 5}):
            check_batch(time, boundary)
        self.assertRaises(SettingError, check_batch, LATEST, time)
        self.assertRaises(SettingError, check_batch, time, EARLIEST)
