"""Tests of kafkatx.cli.bench.bench: options, and how a measurement is run and printed."""

from __future__ import annotations

import json
from array import array

from twisted.internet.interfaces import IReactorTime

from kafkatx.cli.bench.bench import SMALLEST_MARKED, _report
from kafkatx.cli.bench.measure import Measured
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.errors import KafkaTXError
from tests.cli.command_case import CommandCase

MEASURED = Measured(1000, 2_000_000, 2.0, array("d", [0.001, 0.002]), 0.5)


async def measure(reactor: IReactorTime, bar: ProgressBar) -> Measured:
    """Return the same measurement each time; the reactor runs in a thread."""
    assert reactor.seconds() > 0
    return MEASURED


async def fail(reactor: IReactorTime, bar: ProgressBar) -> Measured:
    """Fail as a broker that refuses."""
    raise KafkaTXError("refused")


class ReportTests(CommandCase):
    def test_json(self) -> None:
        """The result is one object."""
        _report(measure, "to t", None, as_json=True)
        self.assertEqual(
            json.loads(self.out.text()),
            {
                "records_per_s": 500.0,
                "mb_per_s": 1.0,
                "latency_ms": {"p50": 1.0, "p99": 2.0, "p999": 2.0},
                "cpu_s": 0.5,
            },
        )

    def test_lines(self) -> None:
        """For a person there are four lines."""
        _report(measure, "to t", 1000, as_json=False)
        lines = self.out.text().splitlines()
        self.assertEqual(lines[1], "500 messages/s, 1.0 MB/s")
        self.assertEqual(len(lines), 4)

    def test_failure(self) -> None:
        """An error of the measurement is raised, and nothing is printed."""
        self.assertRaises(KafkaTXError, _report, fail, "to t", None, True)
        self.assertEqual(self.out.text(), "")


class OptionTests(CommandCase):
    def test_usage(self) -> None:
        """Numbers that make no sense are refused."""
        for line in (
            f"latency --size {SMALLEST_MARKED - 1}",
            "producer --count 0",
            "producer --acks 2",
            "consumer --batch 0",
            "producer -X linger.ms",
        ):
            self.assertEqual(self.run_command("bench", *line.split()), 2, line)
