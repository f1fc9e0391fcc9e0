"""The metrics of a push: written by OpenTelemetry's own messages, damaged, and above the bounds."""

from __future__ import annotations

import math
import random

from opentelemetry.proto.metrics.v1 import metrics_pb2 as m
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.telemetry.otlp import Bounds, Kind, Point, Push, read
from kafkatx.broker.telemetry.protobuf import Malformed
from kafkatx.records.compression import Codec, decompress
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from tests.broker.telemetry.pushes import gauge, metrics_data, total
from tests.wire.test_golden import frames
from tests.wire.test_golden import read as read_request

PUSH = metrics_data(
    gauge("a.b", 1.5, node="1", x=True),
    total("c", -7),
    total("d", 9, delta=False),
    group_id="g",
    number=-3,
    share=0.5,
)


class ReadTests(SynchronousTestCase):
    def test_points(self) -> None:
        """Gauges, deltas and cumulative sums are read with their labels, and what is about the client."""
        self.assertEqual(
            read(PUSH),
            Push(
                (("group_id", "g"), ("number", "-3"), ("share", "0.5")),
                (
                    Point("a.b", Kind.GAUGE, 1.5, (("node", "1"), ("x", "true"))),
                    Point("c", Kind.DELTA, -7.0),
                    Point("d", Kind.CUMULATIVE, 9.0),
                ),
            ),
        )

    def test_real_clients(self) -> None:
        """Pushes that librdkafka and a Java client have sent are read, in the codecs that they chose."""
        recorded = frames()
        for client, name in (("librdkafka", "creation.total"), ("java", "connection.count")):
            request = read_request(recorded[f"{client}-72-PushTelemetry-v0"])
            assert isinstance(request, PushTelemetryRequest)
            push = read(decompress(Codec(request.compression_type), request.metrics))
            self.assertTrue(push.points)
            self.assertEqual(push.dropped, 0)
            prefix = "org.apache.kafka.producer.connection."
            self.assertEqual([one.name for one in push.points if not one.name.startswith(prefix)], [])
            self.assertTrue([one for one in push.points if one.name.endswith(name)], client)

    def test_nothing(self) -> None:
        """An empty push has no points."""
        self.assertEqual(read(b""), Push((), ()))

    def test_passed_over(self) -> None:
        """Histograms, points without a number, infinite ones, and metrics without a name are left out."""
        histogram = m.Metric(
            name="h", histogram=m.Histogram(data_points=[m.HistogramDataPoint(count=1, sum=2)])
        )
        empty = m.Metric(name="e", gauge=m.Gauge(data_points=[m.NumberDataPoint()]))
        data = metrics_data(histogram, empty, gauge("i", math.inf), gauge("n", math.nan), gauge("", 1))
        self.assertEqual(read(data), Push((), ()))

    def test_bounds(self) -> None:
        """Points above the bound are counted, texts are cut, labels above the bound are left out."""
        data = metrics_data(*(gauge(f"m{number}" * 9, number, a="b" * 9, c="d") for number in range(10)))
        push = read(data, Bounds(points=3, labels=1, characters=4))
        self.assertEqual((len(push.points), push.dropped), (3, 7))
        self.assertEqual(push.points[2], Point("m2m2", Kind.GAUGE, 2.0, (("a", "bbbb"),)))

    def test_bound_of_one_metric(self) -> None:
        """The points of one metric stop at the bound as well, and are not read beyond it."""
        metric = gauge("a", 1)
        for _ in range(4):
            metric.gauge.data_points.append(m.NumberDataPoint(as_double=1))
        push = read(metrics_data(metric), Bounds(points=3))
        self.assertEqual((len(push.points), push.dropped), (3, 1))
        labels = {f"l{number}": "x" for number in range(30)}
        (point,) = read(metrics_data(gauge("a", 1, **labels))).points
        self.assertEqual(len(point.labels), Bounds().labels)

    def test_not_utf_8(self) -> None:
        """A text that is not UTF-8 is malformed."""
        with self.assertRaises(Malformed):
            read(PUSH.replace(b"a.b", b"a\xffb"))

    def test_cut(self) -> None:
        """A push that is cut at any byte is malformed, or has fewer points."""
        whole = read(PUSH)
        for end in range(len(PUSH)):
            try:
                self.assertNotEqual(read(PUSH[:end]), whole)
            except Malformed:
                continue

    def test_damaged(self) -> None:
        """Flipped bytes give points or Malformed, never another error."""
        rng = random.Random(7)
        malformed = 0
        for _ in range(3000):
            data = bytearray(PUSH)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                read(bytes(data))
            except Malformed:
                malformed += 1
        self.assertGreater(malformed, 100)
