"""The scenario of kcat, Debian's. Variants: ``now``; ``0.8.2.1``, which asks no broker for its versions."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Sequence

from tests.clients.features import PARTITIONS
from tests.clients.scenario import BIG, SENT, WAIT_S, Pair, Scenario, Told, check_keyed, main, new_name, same

_REBALANCED = re.compile(r"^% Group \S+ rebalanced .*: (assigned|revoked): (.*)$")
_OLD = ("-X", "api.version.request=false", "-X", "broker.version.fallback=0.8.2.1")


class Kcat(Scenario):
    """kcat, one process for each thing that it does."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        super().__init__(variant, bootstrap)
        self._base = ("kcat", "-b", bootstrap, *(() if variant == "now" else _OLD))

    def version(self) -> str:
        """kcat's own and its librdkafka's."""
        printed = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Version (\S+) .*librdkafka (\S+)", printed)
        return f"{found[1]}, librdkafka {found[2]}" if found else printed

    def run_kcat(self, *arguments: str, stdin: str = "") -> str:
        """Run kcat and return its output.

        :raises AssertionError: it failed.
        """
        done = subprocess.run(
            [*self._base, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"kcat {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def produce(self, topic: str, pairs: Sequence[Pair], *options: str) -> None:
        """``-P`` with keys; kcat confirms every delivery, and the broker creates the topic."""
        # Not idempotent: a retry, as a topic just created may need, must not overtake.
        self.run_kcat(
            "-P", "-t", topic, "-K", ":", "-X", "max.in.flight=1", *options, stdin=self.lines(pairs)
        )

    def lines(self, pairs: Sequence[Pair]) -> str:
        """Keys and values as ``-K :`` reads them."""
        return "".join(f"{key.decode()}:{value.decode()}\n" for key, value in pairs)

    def read(self, *arguments: str) -> list[tuple[int, bytes, bytes]]:
        """(partition, key, value) of what kcat reads."""
        printed = self.run_kcat("-q", "-f", "%p %k %s\n", *arguments)
        found = [line.split(" ", 2) for line in printed.splitlines()]
        return [(int(partition), key.encode(), value.encode()) for partition, key, value in found]

    def read_all(self, topic: str, *options: str) -> list[tuple[int, bytes, bytes]]:
        """All of a topic."""
        return self.read("-C", "-t", topic, "-o", "beginning", "-e", *options)

    def produce_keyed(self) -> None:
        """``kcat -P -K``."""
        topic = new_name()
        self.produce(topic, SENT, "-X", "topic.acks=all")
        check_keyed(self.read_all(topic))

    def produce_compressed(self) -> str:
        """``kcat -P -z``."""
        codecs = ["gzip", "snappy", "lz4", *(["zstd"] if self.variant == "now" else [])]
        for codec in codecs:
            topic = new_name()
            self.produce(topic, BIG, "-z", codec)
            check_keyed(self.read_all(topic), BIG)
        return ", ".join(codecs)

    def consume(self) -> None:
        """``kcat -C -o beginning -e``."""
        topic = new_name()
        self.produce(topic, SENT)
        printed = self.run_kcat("-C", "-q", "-e", "-o", "beginning", "-t", topic, "-f", "%p %o\n")
        found = [tuple(map(int, line.split())) for line in printed.splitlines()]
        same(len(found), len(SENT), "messages")
        for partition in range(PARTITIONS):
            offsets = [offset for place, offset in found if place == partition]
            same(offsets, list(range(len(offsets))), "offsets")

    def commit(self) -> None:
        """``kcat -G -c 100``, then again; before groups ``-o stored``, a partition at a time."""
        topic, group = new_name(), new_name("group")
        self.produce(topic, SENT)
        if self.variant != "now":
            stored = ["-C", "-t", topic, "-p", "0", "-o", "stored", "-X", f"group.id={group}"]
            stored += ["-X", "topic.auto.offset.reset=earliest"]
            everything = self.read_all(topic, "-p", "0")
            same(self.read(*stored, "-c", "5"), everything[:5], "the first")
            same(self.read(*stored, "-e"), everything[5:], "the rest")
            return
        member = ["-G", group, "-X", "auto.offset.reset=earliest", topic]
        found = self.read("-c", "100", *member)
        same(len(found), 100, "the first")
        found += self.read("-c", str(len(SENT) - 100), *member)
        check_keyed(found)

    def seek_by_time(self) -> None:
        """``kcat -C -o s@TIME``."""
        topic = new_name()
        self.produce(topic, SENT)
        time.sleep(0.01)  # kcat stamps records itself
        between = int(time.time() * 1000)
        self.produce(topic, BIG)
        check_keyed(self.read("-C", "-t", topic, "-o", f"s@{between}", "-e"), BIG)

    def transactions(self) -> str:
        """``-X transactional.id``: one transaction, committed at the end of the input."""
        topic = new_name()
        self.produce(topic, SENT, "-X", f"transactional.id={new_name('id')}")
        check_keyed(self.read_all(topic, "-X", "isolation.level=read_committed"))
        return "commits; kcat cannot be asked to abort"

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``kcat -G``; it commits by itself, and leaves at SIGTERM."""
        options = ["-X", "auto.offset.reset=earliest"]
        if session_ms:
            options += ["-X", f"session.timeout.ms={session_ms}", "-X", "heartbeat.interval.ms=300"]
        command = [*self._base, "-G", group, "-u", "-f", "read %p %o\n", *options, topic]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            threading.Thread(target=self.end, args=(told, process), daemon=True).start()
            assert process.stdout is not None
            for line in process.stdout:
                self.translate(line, told)

    def end(self, told: Told, process: subprocess.Popen[str]) -> None:
        """Make kcat leave when the runner says so."""
        told.leave.wait()
        process.terminate()

    def translate(self, line: str, told: Told) -> None:
        """Tell the runner what kcat says."""
        found = _REBALANCED.match(line)
        if found:
            partitions = [int(partition) for partition in re.findall(r"\[(\d+)\]", found[2])]
            (told.assigned if found[1] == "assigned" else told.revoked)(partitions)
        elif line.startswith("read "):
            _, partition, offset = line.split()
            told.read([(int(partition), int(offset))])


if __name__ == "__main__":
    main(Kcat)
