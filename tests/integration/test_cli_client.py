"""The commands ``kafkatx consume -G``, ``tail`` and ``bench`` against a real broker."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from typing import IO

from tests.integration.clients import new_topic
from tests.integration.test_cli import COMMAND, TIMEOUT_S, ProcessCase, environment, next_line
from tests.schemas.http_registry import HttpRegistry


class GroupTests(ProcessCase):
    def setUp(self) -> None:
        """A topic with the lines 0 to 9, and a group's name."""
        super().setUp()
        self.group = new_topic()
        self.lines = [b"%d\n" % n for n in range(10)]
        self.run_command("produce", self.topic, data=b"".join(self.lines))

    def lag(self) -> list[str]:
        """Committed offset, end and lag of the group in the topic's one partition."""
        return self.run_command("groups", "describe", self.group).decode().split("\t")[3:6]

    def test_goes_on(self) -> None:
        """Printed messages are committed, and no others; the next run continues there and ends at the end."""
        first = self.run_command("consume", "-G", self.group, self.topic, "-c", "4")
        self.assertEqual(first, b"".join(self.lines[:4]))
        self.assertEqual(self.lag(), ["4", "10", "6"])
        self.assertEqual(
            self.run_command("consume", "-G", self.group, self.topic, "-e"), b"".join(self.lines[4:])
        )
        self.assertEqual(self.run_command("consume", "-G", self.group, self.topic, "-e"), b"")

    def test_topics(self) -> None:
        """Several topics are read, in each format."""
        other = new_topic()
        self.run_command("produce", other, "-K", ":", data=b"k:v\n")
        text = self.run_command("consume", "-G", self.group, self.topic, other, "-e", "-f", "%t %k %s\\n")
        wanted = [b"%b  %b" % (self.topic.encode(), line) for line in self.lines]
        self.assertEqual(sorted(text.splitlines(True)), sorted([*wanted, b"%b k v\n" % other.encode()]))
        rows = self.run_command("consume", "-G", new_topic(), other, "-e", "-J").splitlines()
        self.assertEqual([(json.loads(row)["key"], json.loads(row)["broker"]) for row in rows], [("k", 0)])

    def test_decoded(self) -> None:
        """Messages with schemas are decoded; one without is an error, and is not committed."""
        topic = new_topic()
        with HttpRegistry() as server:
            registry = ("--registry", server.url)
            schema = '{"type":"record","name":"N","fields":[{"name":"n","type":"int"}]}'
            lines = [b'{"n":%d}\n' % n for n in range(3)]
            self.run_command("produce", topic, "--schema", schema, *registry, data=b"".join(lines))
            member = ("consume", "-G", self.group, topic, "-e", "--decode", "avro", *registry)
            self.assertEqual(self.run_command(*member), b"".join(lines))
            self.run_command("produce", topic, data=b"no schema\n")
            self.assertEqual(self.run_command(*member, code=1), b"")
            self.assertIn(f"{topic} [0] offset 3", self.errors)
        self.assertEqual(self.lag(), ["3", "4", "1"])

    def test_end(self) -> None:
        """With -o end a new group begins with what comes."""
        self.assertEqual(self.run_command("consume", "-G", self.group, self.topic, "-o", "end", "-e"), b"")
        self.run_command("produce", self.topic, data=b"new\n")
        self.assertEqual(self.run_command("consume", "-G", self.group, self.topic, "-e"), b"new\n")

    def test_interrupted(self) -> None:
        """Ctrl-C ends it with 130: what was printed is committed, and the group is left."""
        process = self.start("consume", "-G", self.group, self.topic)
        assert process.stdout is not None
        first = next_line(process.stdout)
        self.assertEqual([first, *(process.stdout.readline() for _ in self.lines[1:])], self.lines)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 130)
        self.assertNotIn(b"Traceback", errors)
        self.assertEqual(self.lag(), ["10", "10", "0"])
        self.assertEqual(self.run_command("groups", "describe", self.group, "--members"), b"")

    def blocked(self) -> subprocess.Popen[bytes]:
        """Start a member that prints more than is read, and read its first line."""
        self.run_command("produce", self.topic, data=(b"y" * 99 + b"\n") * 50_000)
        process = self.start("consume", "-G", self.group, self.topic)
        assert process.stdout is not None
        self.assertEqual(next_line(process.stdout), self.lines[0])
        return process

    def test_interrupted_printing(self) -> None:
        """Ctrl-C amid printing: what is committed is what was printed, to the message; buffered or not."""
        for unbuffered in ("", "1"):
            self.setUp()
            self.patch(os, "environ", {**os.environ, "PYTHONUNBUFFERED": unbuffered})
            process = self.blocked()
            assert process.stdout is not None
            process.send_signal(signal.SIGINT)
            printed = 1 + sum(1 for _ in process.stdout)
            self.assertEqual(process.wait(TIMEOUT_S), 130)
            self.assertEqual(self.lag()[0], str(printed))

    def test_interrupted_twice(self) -> None:
        """The second Ctrl-C waits for no reader, and commits nothing."""
        process = self.blocked()
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)  # two that come at once are one
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(self.lag()[0], "-")

    def test_reader_gone(self) -> None:
        """Messages that could not be written are not committed, and the command ends quietly."""
        process = self.blocked()
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertEqual(process.stderr.read(), b"")
        committed, end, _ = self.lag()
        self.assertEqual(end, "50010")
        self.assertLess(0 if committed == "-" else int(committed), 50_010)

    def test_shared(self) -> None:
        """Two members share the partitions: together they print everything once."""
        topic = new_topic()
        self.run_command("topics", "create", topic, "-p", "2")
        members = [self.start("consume", "-G", self.group, topic) for _ in range(2)]
        deadline = time.monotonic() + TIMEOUT_S
        while self.shares() != ["1", "1"]:
            self.assertLess(time.monotonic(), deadline)
        for number in ("0", "1"):
            self.run_command("produce", topic, "-p", number, data=number.encode() + b"\n")
        streams: list[IO[bytes]] = [member.stdout for member in members if member.stdout is not None]
        self.assertEqual(sorted(map(next_line, streams)), [b"0\n", b"1\n"])
        for member in members:
            member.send_signal(signal.SIGINT)
            self.assertEqual(member.communicate(timeout=TIMEOUT_S)[0], b"")

    def shares(self) -> list[str]:
        """Return the number of partitions of each member of the group; none while there is no group."""
        done = subprocess.run(
            [*COMMAND, "groups", "describe", self.group, "--members"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment(),
        )
        return [line.split("\t")[5] for line in done.stdout.splitlines()]

    def test_no_topic(self) -> None:
        """A topic that is not there is told, and not made."""
        missing = new_topic()
        self.run_command("consume", "-G", self.group, self.topic, missing, code=1)
        self.assertIn(f"there is no topic '{missing}'", self.errors)
        self.assertNotIn(missing.encode(), self.run_command("topics", "list"))


class TailTests(ProcessCase):
    def tail(self, *arguments: str) -> subprocess.Popen[bytes]:
        """The command, after it has printed what it begins with."""
        process = self.start("tail", *arguments)
        self.addCleanup(process.send_signal, signal.SIGINT)
        return process

    def test_live(self) -> None:
        """It begins with the last ones, then prints those of all its topics that match, as they come."""
        other = new_topic()
        self.run_command("produce", self.topic, data=b"old\nno\nlast\n")
        self.run_command("produce", other, data=b"first\n")
        process = self.tail(self.topic, other, "-n", "2", "-m", "S", "-i")
        assert process.stdout is not None
        out = process.stdout
        begin = sorted([next_line(out), out.readline()])
        expected = [b"%b\t0\t2\t\tlast\n" % self.topic.encode(), b"%b\t0\t0\t\tfirst\n" % other.encode()]
        self.assertEqual(begin, sorted(expected))
        self.run_command("produce", self.topic, "-K", ":", data=b"k:nothing\nk:yes\n")
        self.assertEqual(next_line(out), b"%b\t0\t4\tk\tyes\n" % self.topic.encode())
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((rest, process.returncode), (b"", 130))
        self.assertNotIn(b"Traceback", errors)

    def test_new_topics(self) -> None:
        """With a pattern topics that are made later are printed from their beginning."""
        self.run_command("produce", f"{self.topic}-a", data=b"zero\n")
        process = self.tail("-r", f"{self.topic}.*", "-n", "1", "-c", "3", "-f", "%s\\n")
        assert process.stdout is not None
        self.assertEqual(next_line(process.stdout), b"zero\n")  # it looks now for what comes
        self.run_command("produce", f"{self.topic}-b", data=b"one\n")
        self.assertEqual(next_line(process.stdout), b"one\n")
        self.run_command("produce", f"{self.topic}-c", data=b"two\n")
        self.assertEqual(next_line(process.stdout), b"two\n")
        self.assertEqual(process.wait(TIMEOUT_S), 0)

    def test_no_topic(self) -> None:
        """A topic that is not there is told in one line, and not made."""
        self.run_command("tail", self.topic, code=1)
        self.assertIn("kafkatx topics create", self.errors)
        self.assertEqual(len(self.errors.splitlines()), 1)
        self.assertNotIn(self.topic.encode(), self.run_command("topics", "list"))


class BenchTests(ProcessCase):
    def measure(self, *arguments: str) -> dict[str, float]:
        """The one line of JSON, with its percentiles beside the rest; all of it must be plausible."""
        (line,) = self.run_command("bench", *arguments, "--topic", self.topic, "--json").splitlines()
        found = json.loads(line)
        self.assertEqual(set(found), {"records_per_s", "mb_per_s", "latency_ms", "cpu_s"})
        times = found.pop("latency_ms")
        self.assertEqual(list(times), ["p50", "p99", "p999"])
        self.assertLessEqual(0, times["p50"])
        self.assertEqual(sorted(times.values()), list(times.values()))
        return {**found, **times}

    def count(self) -> int:
        """Return the number of messages in the topic."""
        return len(self.run_command("consume", self.topic, "-e", "-f", "%S\\n").split())

    def test_runs(self) -> None:
        """All messages are sent in the requested size, including the last smaller batch, and are read."""
        found = self.measure("producer", "--count", "1030", "--batch", "50", "--size", "100")
        self.assertAlmostEqual(found["mb_per_s"], found["records_per_s"] / 10_000, places=2)
        lengths = self.run_command("consume", self.topic, "-e", "-f", "%S\\n").split()
        self.assertEqual(lengths, [b"100"] * 1030)
        self.measure("producer", "--count", "20", "--batch", "1", "--compression", "zstd", "--acks", "1")
        self.assertEqual(self.count(), 1050)
        self.measure("consumer")
        self.measure("consumer", "--count", "7", "--batch", "2")

    def test_rate(self) -> None:
        """With a rate it is kept to."""
        found = self.measure("producer", "--count", "201", "--batch", "1", "--rate", "400")
        self.assertLess(found["records_per_s"], 420)

    def test_latency(self) -> None:
        """Every message comes to the consumer, though the topic has others."""
        self.run_command("produce", self.topic, data=b"other\n")
        found = self.measure("latency", "--count", "300", "--rate", "1000")
        self.assertGreater(found["p50"], 0)
        self.assertEqual(self.count(), 301)

    def test_people(self) -> None:
        """Without --json there are four lines for people."""
        lines = self.run_command("bench", "producer", "--count", "10", "--topic", self.topic).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(lines[0].startswith(b"10 messages, 2,000 bytes in "))

    def test_mistakes(self) -> None:
        """Each is told in one line with exit code 1."""
        for arguments, reason in (
            (["consumer", "--topic", self.topic], "there is no topic"),
            (["producer", "-b", "127.0.0.1:1", "--timeout", "0.5"], "127.0.0.1:1"),
            (["producer", "-X", "linger=1"], "linger.ms"),
            (
                ["producer", "--topic", self.topic, "--size", "2000000", "--count", "1"],
                "2000000 bytes is above",
            ),
        ):
            self.run_command("bench", *arguments, code=1)
            self.assertIn(reason, self.errors)
            self.assertEqual(len(self.errors.splitlines()), 1, self.errors)
