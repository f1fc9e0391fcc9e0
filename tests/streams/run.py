"""A run: lines, two instances of the word count, kills of both and of the broker, and the check."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable

from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.brokers import SETTINGS, ApacheBroker, Broker, OurBroker
from tests.clients.toolchains import prepare
from tests.streams.counts import Counts
from tests.streams.instance import Application, Instance
from tests.streams.lines import QUIET, Feeder, words_of

INPUT, OUTPUT = "lines", "counts"
PARTITIONS = 3
INSTANCES = 2
SETTLE_S = 300.0
"""Seconds without a new count after which a run has failed."""
ADMIN_S = 60.0
APACHE = "apache-"


class Run:
    """A run.

    :param broker: ``kafkatx``, or ``apache-4`` as a control.
    :param rate: lines a second.
    :param kills: kills of instances, and as many of the broker.
    :param tell: prints a line.
    """

    def __init__(
        self,
        broker: str,
        application: Application,
        minutes: float,
        kills: int,
        rate: float,
        seed: int,
        tell: Callable[[str], None],
    ) -> None:
        self._broker = _broker(broker)
        self._application = application
        self._seconds = minutes * 60
        self._kills = kills
        self._rate = rate
        self._random = random.Random(seed)
        self._tell = tell
        self._folder = tempfile.mkdtemp(prefix="kafkatx-streams-")
        self._instances: list[Instance] = []

    def run(self) -> None:
        """Run it all.

        :raises AssertionError: a count is not as it must be.
        """
        try:
            class_path = self._application.build(os.path.join(self._folder, "classes"))
            self._broker.start()
            bootstrap = self._broker.bootstrap
            _create(bootstrap)
            for number in range(INSTANCES):
                folder = os.path.join(self._folder, f"instance-{number}")
                self._instances.append(self._application.instance(class_path, bootstrap, folder))
                self._instances[-1].start()
            self._count(Feeder(bootstrap, INPUT, self._rate), Counts(bootstrap, OUTPUT, PARTITIONS))
            self._stop()
        finally:
            for instance in self._instances:
                instance.kill()
            self._broker.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _count(self, feeder: Feeder, counts: Counts) -> None:
        counts.start()
        try:
            feeder.start()
            try:
                self._disturb(feeder, counts)
            finally:
                lines = feeder.stop()
            self._check(lines, counts)
        finally:
            counts.stop()

    def _disturb(self, feeder: Feeder, counts: Counts) -> None:
        """Kill instances and the broker at random times, and start them again."""
        which = ["broker"] * self._kills + [f"instance {n % INSTANCES}" for n in range(self._kills)]
        self._random.shuffle(which)
        end_s = time.monotonic() + self._seconds
        for number, name in enumerate(which):
            time.sleep(self._random.uniform(0.4, 1.6) * self._seconds * 0.8 / len(which))
            if name == "broker":
                self._broker.kill()
                self._broker.start()
            else:
                instance = self._instances[int(name.rpartition(" ")[2])]
                instance.kill()
                instance.start()
            told = f"{number + 1} of {len(which)}: killed the {name}"
            self._tell(f"{told}; {feeder.sent} lines, {counts.records} counts")
        time.sleep(max(0.0, end_s - time.monotonic()))

    def _check(self, lines: int, counts: Counts) -> None:
        """Wait until all words are counted, and check each of them."""
        wanted = words_of(lines)
        total, seen, since_s = wanted.total(), -1, time.monotonic()
        while counts.records < total and not counts.faults:
            if counts.records != seen:
                seen, since_s = counts.records, time.monotonic()
            elif time.monotonic() - since_s > SETTLE_S:
                told = f"{seen} of {total} words are counted, and no more for {SETTLE_S:.0f} s"
                raise AssertionError(f"{told}\n{self._output()}")
            time.sleep(0.2)
        time.sleep(2)  # for counts that must not come
        wrong = [word for word in wanted | counts.last if wanted[word] != counts.last[word]]
        if counts.faults or wrong or counts.records != total:
            raise AssertionError(
                f"{total} words were sent, {counts.records} counts read; {len(wrong)} words are wrong, as"
                f" {[(word, wanted[word], counts.last[word]) for word in wrong[:5]]}; {counts.faults[:5]}"
            )
        told = f"{lines} lines with {total} words, {len(wanted)} different"
        self._tell(f"{told}: each count was read once, in order")

    def _stop(self) -> None:
        for instance in self._instances:
            instance.stop()
        starts = [instance.starts for instance in self._instances]
        replaced = sum(row.startswith("a thread") for one in self._instances for row in one.output())
        self._tell(f"starts of the instances: {starts}; threads that Streams replaced: {replaced}")
        late = self._broker.output().count("it was sent for an earlier one")
        self._tell(f"EndTxn requests that the broker took for late ones since its last start: {late}")

    def _output(self) -> str:
        return "\n".join(row for one in self._instances for row in one.output()[-20:])


def _broker(name: str) -> Broker:
    settings = {**SETTINGS, "group.min.session.timeout.ms": "1000"}
    if name.startswith(APACHE):
        version = name.removeprefix(APACHE)
        prepare(f"java-{version}")
        return ApacheBroker(version, settings)
    return OurBroker(settings)


def _create(bootstrap: str) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (INPUT, OUTPUT)]).values():
        made.result(ADMIN_S)
