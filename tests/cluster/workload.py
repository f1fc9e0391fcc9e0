"""All clients of a run, and their histories in a folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

from tests.cluster.access import Access
from tests.cluster.checker.checker import Histories
from tests.cluster.checker.history import GroupHistory, ProducerHistory, ReaderHistory
from tests.cluster.clients.kafka_python import KafkaPythonMember, KafkaPythonProducer, KafkaPythonReader
from tests.cluster.clients.librdkafka import LibrdkafkaMember, LibrdkafkaProducer, LibrdkafkaReader
from tests.cluster.clients.load import Client, Consumer, GroupConsumer, Member, Producer, Reader
from tests.cluster.clients.ours import OurMember, OurProducer, OurReader
from tests.cluster.clients.raw import RawProducer

ALL, ONE = "all", "one"
"""The topic of acks=all, and that of acks=1."""

PARTITIONS = {ALL: 6, ONE: 3}
RATE = 40.0
"""Records per second of each producer, unless told otherwise."""

READ_S = 150.0
"""Time for readers and groups to read all at the end.

A member that the faults have taken away holds its partitions for ``group.consumer.session.timeout.ms``, 45 s,
from the last move of its coordinator on, and partitions still go back to their preferred leaders then.
"""
BUFFER = 1 << 16


class Workload:
    """Producers, readers and groups; not started.

    :param seed: of the times at which members of groups come and go.
    :param rate: records per second of each producer.
    """

    def __init__(self, folder: Path, access: Access, seed: int, rate: float = RATE) -> None:
        self._folder, self._access, self._seed, self._rate = folder, access, seed, rate
        self.producers: list[Producer] = []
        self.readers: list[Reader] = []
        self.members: dict[str, list[Member]] = {}
        self._files: list[TextIO] = []
        self._kafka_python_log = logging.FileHandler(folder / "kafka-python.log", delay=True)
        self._add_producers()
        for topic, library, make in (
            (ALL, "librdkafka", LibrdkafkaReader),
            (ALL, "kafka-python", KafkaPythonReader),
            (ALL, "ours", OurReader),
            (ONE, "librdkafka", LibrdkafkaReader),
        ):
            self._add_reader(
                f"{library}-reads-{topic}", topic, partial(make, access, topic, PARTITIONS[topic])
            )
        for library, member in (
            ("librdkafka", LibrdkafkaMember),
            ("kafka-python", KafkaPythonMember),
            ("librdkafka-consumer", partial(LibrdkafkaMember, protocol="consumer")),
            ("ours", OurMember),
        ):
            for number in (1, 2):
                self._add_member(
                    f"group-{library}", f"{library}-member-{number}", partial(member, access, ALL)
                )

    @property
    def groups(self) -> list[str]:
        """The names of the groups."""
        return list(self.members)

    @property
    def clients(self) -> list[Client]:
        """All of them."""
        return [*self.producers, *self.readers, *(one for group in self.members.values() for one in group)]

    def start(self) -> None:
        """Start all clients; what kafka-python logs goes to a file."""
        logger = logging.getLogger("kafka")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        self._kafka_python_log.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(message)s"))
        logger.addHandler(self._kafka_python_log)
        for client in self.clients:
            client.start()

    def stop_producers(self) -> None:
        """Stop the producers; return when all records have an outcome, or a producer takes too long."""
        self._stop(self.producers)

    def wait_for_reads(self, ends: dict[str, dict[int, int]]) -> list[str]:
        """Wait until readers and groups have read everything; return sentences about those that have not.

        :param ends: of each topic and partition.
        """
        deadline_s = time.monotonic() + READ_S
        behind = self._behind(ends)
        while behind and time.monotonic() < deadline_s:
            time.sleep(0.2)
            behind = self._behind(ends)
        return [f"{one} after {READ_S:.0f} s" for one in behind]

    def stop(self) -> list[str]:
        """Stop all clients; return sentences about those that failed."""
        self._stop(self.clients)
        logging.getLogger("kafka").removeHandler(self._kafka_python_log)
        self._kafka_python_log.close()
        told = []
        for client in self.clients:
            if client.broken is not None:
                told.append(f"{client.name} ended with {client.broken!r}")
        return told

    def read_final(self, ends: dict[str, dict[int, int]]) -> list[str]:
        """Read all topics from the beginning to the end; return sentences about what cannot be read."""
        told = []
        for topic, wanted in ends.items():
            with open(self._path("final", topic), "w") as out:
                history = ReaderHistory(out, time.monotonic, f"final-{topic}", topic)
                reader = LibrdkafkaReader(self._access, topic, PARTITIONS[topic])
                positions = dict.fromkeys(wanted, 0)
                deadline_s = time.monotonic() + 2 * READ_S
                while any(positions[number] < end for number, end in wanted.items()):
                    if time.monotonic() > deadline_s:
                        told.append(f"{topic} can be read only to {positions}, not to {wanted}")
                        break
                    for number, records in reader.poll().items():
                        history.read(number, records)
                        positions[number] = records[-1][0] + 1
                reader.close()
        return told

    def histories(self) -> Histories:
        """Return the histories of all clients, as open files."""
        for file in self._files:  # those of clients that have not stopped
            if not file.closed:
                file.flush()
        files = {
            kind: [open(path) for path in sorted(self._folder.glob(f"{kind}.*"))]  # noqa: SIM115
            for kind in ("producer", "final", "reader", "group")
        }
        return Histories(files["producer"], files["final"], files["reader"], files["group"])

    def _behind(self, ends: dict[str, dict[int, int]]) -> list[str]:
        behind = []
        for reader in self.readers:
            for number, end in ends[reader.history.topic].items():
                if (position := reader.positions.get(number, 0)) < end:
                    behind.append(f"{reader.name} is at {position} of {end} in partition {number}")
        for group, members in self.members.items():
            for number, end in ends[ALL].items():
                position = max(member.positions.get(number, 0) for member in members)
                if position < end:
                    behind.append(f"{group} is at {position} of {end} in partition {number}")
        return behind

    def _stop(self, clients: list[Client] | list[Producer]) -> None:
        for client in clients:
            client.stop()
        for client in clients:
            if not client.join() and client.broken is None:
                client.broken = AssertionError("it did not stop")

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / f"{kind}.{name}"

    def _log(self, name: str) -> str:
        return str(self._folder / f"{name}.log")

    def _file(self, kind: str, name: str) -> TextIO:
        self._files.append(open(self._path(kind, name), "w", BUFFER))  # noqa: SIM115
        return self._files[-1]

    def _add_producers(self) -> None:
        at = self._access
        self.producers += [
            LibrdkafkaProducer(
                *self._producer("librdkafka-idempotent", ALL, idempotent=True, ordered=True),
                at,
                self._log("librdkafka-idempotent"),
                enable_idempotence=True,
                max_in_flight=1,  # with more, a failed batch makes it bump its epoch, and send others again
            ),
            LibrdkafkaProducer(
                *self._producer("librdkafka-all", ALL), at, self._log("librdkafka-all"), acks="all"
            ),
            KafkaPythonProducer(
                *self._producer("kafka-python-idempotent", ALL, idempotent=True, ordered=True),
                at,
                idempotent=True,
            ),
            KafkaPythonProducer(*self._producer("kafka-python-all", ALL), at, idempotent=False),
            OurProducer(*self._producer("ours-idempotent", ALL, idempotent=True, ordered=True), at),
            RawProducer(*self._producer("raw", ALL, idempotent=True), at, self._seed),
            LibrdkafkaProducer(
                *self._producer("librdkafka-one", ONE, "1"), at, self._log("librdkafka-one"), acks=1
            ),
        ]

    def _producer(
        self, name: str, topic: str, acks: str = "all", *, idempotent: bool = False, ordered: bool = False
    ) -> tuple[ProducerHistory, str, str, int, float]:
        out = self._file("producer", name)
        history = ProducerHistory(
            out, time.monotonic, name, topic, acks, idempotent=idempotent, ordered=ordered
        )
        return history, name, topic, PARTITIONS[topic], self._rate

    def _add_reader(self, name: str, topic: str, make: Callable[[], Consumer]) -> None:
        out = self._file("reader", name)
        self.readers.append(Reader(ReaderHistory(out, time.monotonic, name, topic), name, make))

    def _add_member(
        self, group: str, name: str, make: Callable[[str, Callable[[], None]], GroupConsumer]
    ) -> None:
        reads = self._file("reader", name)
        commits = self._file("group", name)
        members = self.members.setdefault(group, [])
        members.append(
            Member(
                ReaderHistory(reads, time.monotonic, name, ALL, group),
                GroupHistory(commits, time.monotonic, name, group, ALL),
                name,
                partial(make, group),
                self._seed * 100 + len(members),
            )
        )
