"""The names of options, and the queries in which they mean something."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.options.names import about_groups, check_stream, ignored_in_batch, lowered


class LoweredTests(SynchronousTestCase):
    def test_any_case(self) -> None:
        """Names are known in any case, and all kafka.* options pass."""
        given = {"STARTINGoffsets": "earliest", "kafka.anything": "1"}
        self.assertEqual(lowered(given), {"startingoffsets": "earliest", "kafka.anything": "1"})

    def test_unknown(self) -> None:
        """An unknown name is refused with the nearest one, or all there are."""
        self.assertRaisesRegex(SettingError, "did you mean subscribe?", lowered, {"subscrib": "t"})
        self.assertRaisesRegex(SettingError, "there are subscribe, ", lowered, {"qqq": "t"})


class QueryTests(SynchronousTestCase):
    def test_stream_has_no_end(self) -> None:
        """An option for the end of a batch is refused in a stream."""
        check_stream({"startingoffsets": "earliest"})
        for name in ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp"):
            self.assertRaisesRegex(SettingError, "streaming queries", check_stream, {name: "latest"})

    def test_ignored(self) -> None:
        """Each option of streams is warned of in a batch."""
        given = {"maxoffsetspertrigger": "1", "maxtriggerdelay": "1s", "subscribe": "t"}
        expected = ["maxOffsetsPerTrigger", "maxTriggerDelay"]
        self.assertEqual([warning.split()[0] for warning in ignored_in_batch(given)], expected)

    def test_groups(self) -> None:
        """A consumer group is warned of; a prefix beside it is warned of, too."""
        self.assertEqual(list(about_groups({"groupidprefix": "p"})), [])
        self.assertEqual(len(list(about_groups({"kafka.group.id": "g"}))), 1)
        self.assertEqual(len(list(about_groups({"kafka.group.id": "g", "groupidprefix": "p"}))), 2)
