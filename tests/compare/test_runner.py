"""Who takes part in which cell, and with what client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.experiments import EXPERIMENTS
from benchmarks.compare.process import Server
from benchmarks.compare.results import Results, cells
from benchmarks.compare.runner import WARM_UPS, run, sittings, taking_part
from benchmarks.compare.systems import SYSTEMS
from benchmarks.compare.systems.system import System, log_path

MEASURED = json.dumps({"messages": 10, "bytes": 2000, "seconds": 0.5, "cpu_s": 0.1, "errors": 0})
RIVALS = ("rabbitmq", "activemq")
WARM_UP: list[list[object]] = [["produce", 300, 200], ["produce", 100, 200], ["consume", 300]]


class FakeSystem:
    """A system that does nothing, and whose clients say that all went well.

    :ivar asked: the arguments of the loads, without the topics' names.
    """

    def __init__(self, name: str, kafka: bool) -> None:
        self.name = name
        self.kafka = kafka
        self.asked: list[list[object]] = []

    def missing(self) -> str | None:
        """As System says."""
        return None

    def version(self) -> str:
        """As System says."""
        return "1"

    def settings(self) -> str:
        """As System says."""
        return "none"

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """As System says."""
        return Server(["sleep", "600"], log_path(folder), core, {})

    def create_topic(self, port: int, topic: str, partitions: int) -> None:
        """As System says."""

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """As System says."""
        mode, _, *counts = arguments
        self.asked.append([mode, *counts])
        return ["echo", MEASURED]


def measured(letter: str, system: System) -> Results:
    """One round of a thousandth of an experiment."""
    results = Results({})
    run([EXPERIMENTS[letter]], [system], 1, 0.001, False, results, lambda _: None, lambda: None)
    return results


def taken(letter: str, name: str) -> list[str]:
    """The cells that a system is measured in."""
    return [cell.name for cell in taking_part(EXPERIMENTS[letter], SYSTEMS[name])]


class TakingPartTests(SynchronousTestCase):
    def test_rivals(self) -> None:
        """The paper's rivals send one message at a time, and are in its two figures only."""
        for name in RIVALS:
            self.assertEqual(taken("a", name), ["1"])
            self.assertEqual(taken("b", name), ["200 kB"])
            self.assertEqual([letter for letter in EXPERIMENTS if taken(letter, name)], ["a", "b"])

    def test_kafka(self) -> None:
        """Systems that speak Kafka's protocol are in all cells."""
        for name in ("kafkatx", "kafka-4", "kafka-3.9"):
            for letter, experiment in EXPERIMENTS.items():
                self.assertEqual(taken(letter, name), [cell.name for cell in experiment.cells])

    def test_floor(self) -> None:
        """The floor is where it is named; what is not named is where no names are."""
        self.assertEqual(taken("a", "floor"), ["1", "50"])
        self.assertEqual(taken("c", "floor"), [])
        self.assertEqual(taking_part(EXPERIMENTS["a"], FakeSystem("other", kafka=True)), [])
        self.assertEqual(len(taking_part(EXPERIMENTS["c"], FakeSystem("other", kafka=True))), 5)


class SittingsTests(SynchronousTestCase):
    def test_together_and_alone(self) -> None:
        """A system is started once for most experiments, and anew for start-up and growth."""
        found = sittings(list(EXPERIMENTS.values()))
        self.assertEqual(
            ["".join(one.letter for one in sitting) for sitting in found], ["abcdefgj", "h", "i"]
        )
        self.assertEqual(sittings([EXPERIMENTS["h"]]), [[EXPERIMENTS["h"]]])

    def test_cold(self) -> None:
        """Who is measured as it starts is not warmed up."""
        self.assertEqual([letter for letter, one in EXPERIMENTS.items() if one.cold], ["h"])


class RunTests(SynchronousTestCase):
    def test_rival_producer(self) -> None:
        """A rival's own client warms it up and empties the queue; a cell of others is no failure."""
        system = FakeSystem("rabbitmq", kafka=False)
        results = measured("a", system)
        self.assertEqual(
            system.asked, [["produce", 300, 200], ["consume", 300], ["produce", 400, 200]], results.notes
        )
        self.assertEqual((cells(results.figures(), "a"), results.notes), (["1"], []))

    def test_rival_consumer(self) -> None:
        """The queue is filled, and then emptied by the consumer."""
        system = FakeSystem("activemq", kafka=False)
        results = measured("b", system)
        self.assertEqual(system.asked[2:], [["produce", 400, 200], ["consume", 400]])
        self.assertEqual((cells(results.figures(), "b"), results.notes), (["200 kB"], []))

    def test_kafka(self) -> None:
        """What speaks Kafka's protocol is warmed up by loads of all kinds, and measured in each cell."""
        system = FakeSystem("kafkatx", kafka=True)
        results = measured("a", system)
        self.assertEqual(
            system.asked,
            WARM_UP * WARM_UPS + [["produce", 400, 200], ["produce", 2000, 200]],
            results.notes,
        )
        self.assertEqual((cells(results.figures(), "a"), results.notes), (["1", "50"], []))

    def test_failed(self) -> None:
        """A load that fails is noted with what it said."""
        system = FakeSystem("rabbitmq", kafka=False)
        self.patch(system, "load_command", lambda *_: ["sh", "-c", "echo no such queue >&2; exit 1"])
        self.assertEqual(measured("a", system).notes, ["(a) rabbitmq failed: no such queue"])
