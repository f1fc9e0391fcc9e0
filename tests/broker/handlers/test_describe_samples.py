"""DescribeSamples: what a broker has sampled."""

from __future__ import annotations

from math import isnan

from kafkatx.broker.history.packed import unpack
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_samples import DescribeSamplesRequest
from tests.broker.running import BrokerTestCase


class DescribeSamplesTests(BrokerTestCase):
    def test_samples(self) -> None:
        """The newest samples come, and series over time."""
        for second in range(100, 110):
            self.broker.samples.history.add(1000 * second, {"bytesIn": float(second), "cpu": 0.5})
        response = self.ask(10104, 0, DescribeSamplesRequest(["bytesIn", "nothing"], 2000, 52, 4))
        self.assertEqual({one.name: one.value for one in response.latest}, {"bytesIn": 109.0, "cpu": 0.5})
        columns = [unpack(one.values, 4) for one in response.series]
        self.assertEqual(list(columns[0][:3]), [104.5, 106.5, 108.5])
        self.assertTrue(isnan(columns[0][3]) and all(map(isnan, columns[1])))

    def test_look(self) -> None:
        """A broker that is asked samples itself each second."""
        self.clock.advance(1000)
        self.ask(10104, 0, DescribeSamplesRequest([], 0, 0, 0))
        self.assertEqual(self.broker.samples.looked_s, self.clock.seconds())

    def test_none(self) -> None:
        """A broker without a console has none."""
        self.assertEqual(self.ask(10104, 0, DescribeSamplesRequest([], 0, 0, 0)).latest, [])

    def test_bounds(self) -> None:
        """A request for more than a chart needs is refused; one for far times costs nothing."""
        self.broker.samples.history.add(1000, {"bytesIn": 1.0})
        for request in (
            DescribeSamplesRequest(["bytesIn"] * 21, 1000, 0, 1),
            DescribeSamplesRequest(["bytesIn"], 1000, 0, 1001),
            DescribeSamplesRequest(["bytesIn"], 1000, 0, -1),
            DescribeSamplesRequest(["bytesIn"], 0, 0, 1),
            DescribeSamplesRequest(["bytesIn"], -1000, 0, 1),
        ):
            self.assertEqual(self.ask(10104, 0, request).error_code, ErrorCode.INVALID_REQUEST)
        for step_ms, first in ((2**62, 0), (1000, 2**62), (1000, -(2**62)), (7, 3)):
            response = self.ask(10104, 0, DescribeSamplesRequest(["bytesIn"], step_ms, first, 1000))
            self.assertEqual((response.error_code, len(response.series[0].values)), (0, 4000))
