"""The text of samples: both formats are what Prometheus' own parsers read, whatever the labels hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.samples import PIECE, Samples, label, labels
from kafkatx.broker.metrics.table.row import Family, Kind

ALPHABET = 'ab\\"\n\r\t ,={}#é\u2028\U0001f600'

FAMILY = Family("", "of the test")
COUNTED = FAMILY.counter("counted_total", 'A "count" with a \\ in its text.', "name")
MEASURED = FAMILY.gauge("measured", "A measure.", "name", "other")


def read(samples: Samples, open_metrics: bool) -> dict[str, tuple[str, str, list[tuple[str, Any, float]]]]:
    """Read the text of samples: type, help and samples of each family."""
    text = b"".join(samples.pieces(open_metrics)).decode()
    parse: Any = read_open_metrics if open_metrics else read_text
    return {
        family.name: (
            family.type,
            family.documentation,
            [(sample.name, sample.labels, sample.value) for sample in family.samples],
        )
        for family in parse(text)
    }


class SamplesTests(SynchronousTestCase):
    def make(self) -> Samples:
        """Return samples of both metrics, in no order."""
        samples = Samples(FAMILY.metrics)
        samples.add(MEASURED, 0.25, labels(name="a", other="b"))
        samples.add(COUNTED, 2**60, label("name", "x"))
        samples.add(MEASURED, -1)
        return samples

    def test_both_formats(self) -> None:
        """Samples of one name stand together, with type and help; integers keep all digits."""
        for open_metrics in (False, True):
            self.assertEqual(
                read(self.make(), open_metrics),
                {
                    "counted": (
                        "counter",
                        'A "count" with a \\ in its text.',
                        [("counted_total", {"name": "x"}, 2**60)],
                    ),
                    "measured": (
                        "gauge",
                        "A measure.",
                        [("measured", {"name": "a", "other": "b"}, 0.25), ("measured", {}, -1.0)],
                    ),
                },
            )
        self.assertIn(b'counted_total{name="x"} 1152921504606846976\n', b"".join(self.make().pieces()))

    def test_end(self) -> None:
        """OpenMetrics has an end, so that a cut text is noticed; the other format has none."""
        self.assertTrue(b"".join(self.make().pieces(True)).endswith(b"\n# EOF\n"))
        self.assertNotIn(b"EOF", b"".join(self.make().pieces()))

    @settings(max_examples=30)
    @given(st.text(ALPHABET, max_size=20))
    def test_labels(self, text: str) -> None:
        """Any text is the value of a label in both formats: quotes, backslashes and ends of lines."""
        text = text.encode("utf-8", "replace").decode()
        for open_metrics in (False, True):
            samples = Samples(FAMILY.metrics)
            samples.add(COUNTED, 1, label("name", text))
            samples.add(COUNTED, 2, label("name", "last"))
            found = read(samples, open_metrics)["counted"][2]
            self.assertEqual(
                found, [("counted_total", {"name": text}, 1), ("counted_total", {"name": "last"}, 2)]
            )

    def test_unwanted(self) -> None:
        """Samples of metrics that are not wanted are dropped."""
        samples = Samples([MEASURED])
        samples.add(COUNTED, 1)
        samples.add(MEASURED, 1)
        self.assertEqual((samples.count, set(read(samples, False))), (1, {"measured"}))

    def test_aliases(self) -> None:
        """The samples of a metric are there once more, with other names; a value is not taken for a label."""
        other = Family("", "of the test").gauge("other_measure", "A measure.", "other_name", "another")
        for value in ("plain", 'name="x",other="y', "name=", "x,other=", "back\\", "a\nb"):
            for shown in ([other], [MEASURED, other]):
                samples = Samples(shown, {MEASURED: other})
                samples.add(MEASURED, 1, labels(name=value, other=value))
                found = read(samples, False)
                self.assertEqual(set(found), {metric.name for metric in shown})
                renamed = [("other_measure", {"other_name": value, "another": value}, 1)]
                self.assertEqual(found["other_measure"][2], renamed)
                self.assertEqual(samples.count, len(shown))
        self.assertEqual(list(Samples([MEASURED], {MEASURED: other}).pieces()), [])

    def test_pieces(self) -> None:
        """A piece has a bounded number of lines, however many there are."""
        samples = Samples(FAMILY.metrics)
        for number in range(2 * PIECE + 1):
            samples.add(MEASURED, number, label("name", number))
        pieces = list(samples.pieces())
        self.assertEqual([piece.count(b"measured{") for piece in pieces], [PIECE, PIECE, 1])
        self.assertEqual(b"".join(pieces).count(b"# TYPE"), 1)

    def test_counters_end_with_total(self) -> None:
        """A counter with another ending is refused: OpenMetrics has no name for it."""
        self.assertRaises(ValueError, FAMILY.counter, "counted", "")
        self.assertIs(COUNTED.kind, Kind.COUNTER)
