"""The runner: which system is measured in which cell, and with what client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.experiments import EXPERIMENTS, prepared_requests
from benchmarks.compare.process import Server, _stat
from benchmarks.compare.results import Results, cells
from benchmarks.compare.runner import WARM_UPS, Manner, Tell, run, sittings, taking_part
from benchmarks.compare.systems import SYSTEMS
from benchmarks.compare.systems.system import System, log_path
from tests.until import until

MEASURED = json.dumps({"messages": 10, "bytes": 2000, "seconds": 0.5, "cpu_s": 0.1, "errors": 0})
RIVALS = ("rabbitmq", "activemq")
WARM_UP: list[list[object]] = [["produce", 300, 200], ["produce", 100, 200], ["consume", 300]]


class FakeSystem(System):
    """A system that does nothing, and whose clients say that all went well.

    :ivar asked: the arguments of the loads, without the topics' names.
    :ivar topics: those that are there.
    :ivar servers: those that were started.
    """

    def __init__(self, name: str, kafka: bool) -> None:
        self.name = name
        self.kafka = kafka
        self.asked: list[list[object]] = []
        self.topics: set[str] = set()
        self.servers: list[Server] = []

    def missing(self) -> str | None:
        """Implement System."""
        return None

    def version(self) -> str:
        """Implement System."""
        return "1"

    def settings(self) -> str:
        """Implement System."""
        return "none"

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        self.servers.append(Server(["sleep", "600"], log_path(folder), core, {}))
        return self.servers[-1]

    def create_topic(self, port: int, topic: str, partitions: int) -> None:
        """Implement System."""
        self.topics.add(topic)

    def delete_topic(self, port: int, topic: str) -> None:
        """Implement System."""
        self.topics.remove(topic)

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        mode, _, *counts = arguments
        self.asked.append([mode, *counts])
        return ["echo", MEASURED]


def measured(letter: str, *systems: System, rounds: int = 1, tell: Tell = lambda _: None) -> Results:
    """Rounds of a thousandth of an experiment."""
    results = Results({})
    run(
        [EXPERIMENTS[letter]],
        systems,
        range(rounds),
        Manner(0.001, pinned=False),
        results,
        tell,
        lambda: None,
    )
    return results


def stopped(server: Server) -> bool:
    """Return True if it is stopped (state T)."""
    return {_stat(pid)[0] for pid in server._pids()} == {"T"}


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

    def test_named_only(self) -> None:
        """Floor and sink are where they are named; what is not named is where no names are."""
        self.assertEqual(taken("a", "floor"), ["1", "50"])
        self.assertEqual([letter for letter in EXPERIMENTS if taken(letter, "floor")], ["a", "b"])
        self.assertEqual([letter for letter in EXPERIMENTS if taken(letter, "sink")], [*"abcdei"])
        self.assertEqual(taken("i", "sink"), [f"{many} partitions" for many in (1, 10, 100, 1000)])
        self.assertEqual(taking_part(EXPERIMENTS["a"], FakeSystem("other", kafka=True)), [])
        self.assertEqual(len(taking_part(EXPERIMENTS["f"], FakeSystem("other", kafka=True))), 2)


class SittingsTests(SynchronousTestCase):
    def test_together_and_alone(self) -> None:
        """A system is started once for most experiments, and anew for start-up and growth."""
        found = sittings(list(EXPERIMENTS.values()))
        self.assertEqual(
            ["".join(one.letter for one in sitting) for sitting in found], ["abcdefgj", "h", "i"]
        )
        self.assertEqual(sittings([EXPERIMENTS["h"]]), [[EXPERIMENTS["h"]]])

    def test_cold(self) -> None:
        """A system that is measured as it starts is not warmed up."""
        self.assertEqual([letter for letter, one in EXPERIMENTS.items() if one.cold], ["h"])


class RunTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Send no requests made beforehand: nothing would answer."""
        self.patch(prepared_requests, "produced", lambda place, size, properties: {"replayed_mb_per_s": 1.0})

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
        """A system with Kafka's protocol is warmed up by loads of all kinds, and measured in each cell."""
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

    def test_turns(self) -> None:
        """All systems are started, and measured in each cell before the next one; others begin each time."""
        told: list[str] = []
        systems = [FakeSystem(name, kafka=True) for name in ("kafkatx", "kafka-4")]
        measured("a", *systems, rounds=2, tell=told.append)
        shown = [line.split(":")[0].strip() for line in told]
        both = ["kafkatx", "kafka-4"]
        starts = [f"{name} starts" for name in both]
        cells = [["(a) 1", *both, "(a) 50", *both[::-1]], ["(a) 1", *both[::-1], "(a) 50", *both]]
        expected = [
            [*starts, "(a) round 1 of 2", *cells[0]],
            [*starts, "(a) round 2 of 2", *cells[1]],
        ]
        self.assertEqual(shown, [line for lines in expected for line in lines])

    def test_one_runs(self) -> None:
        """Only the system that is measured runs; in the end all are gone, and so are the topics."""
        running: list[list[str]] = []
        systems = [FakeSystem(name, kafka=True) for name in ("kafkatx", "kafka-4")]

        def names() -> list[str]:
            return [one.name for one in systems if one.servers and not stopped(one.servers[-1])]

        def look(system: FakeSystem, *_: object) -> list[str]:
            until(lambda: len(names()) == 1, "the others are stopped: a signal takes its time")
            running.append(names())
            return ["echo", MEASURED]

        for system in systems:
            self.patch(system, "load_command", partial(look, system))
        results = measured("a", *systems)
        self.assertEqual(results.notes, [])
        self.assertEqual({tuple(names) for names in running}, {("kafkatx",), ("kafka-4",)})
        self.assertEqual([system.topics for system in systems], [set(), set()])
        self.assertEqual([server._pids() for system in systems for server in system.servers], [[], []])

    def test_one_does_not_start(self) -> None:
        """The others are measured all the same."""
        systems = [FakeSystem(name, kafka=True) for name in ("kafkatx", "kafka-4")]
        self.patch(systems[1], "start", lambda *_: (_ for _ in ()).throw(RuntimeError("no java")))
        results = measured("a", *systems)
        self.assertEqual(results.notes, ["(a) kafka-4 failed: no java"])
        self.assertEqual({key.system for key in results.figures()}, {"kafkatx"})
