"""Programs that load are built when they are needed; what they measured is read, what went wrong is told."""

from __future__ import annotations

import os
import socket
import threading

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.loads import build, librdkafka, load
from benchmarks.compare.loads.build import NotBuilt, built
from benchmarks.compare.systems.floor import Floor
from benchmarks.compare.systems.system import says

AGES_S = {"old": 1_000, "new": 2_000}


class BuildingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Build in a folder of the test."""
        self.folder = self.mktemp()
        self.patch(build, "BUILT", self.folder)
        os.mkdir(self.folder)

    def path(self, name: str, age: str | None = None) -> str:
        """A file's path; the file is made if it is to have an age."""
        path = os.path.join(self.folder, name)
        if age is not None:
            with open(path, "w"):
                pass
            os.utime(path, (AGES_S[age], AGES_S[age]))
        return path

    def test_built(self) -> None:
        """A program that is missing or older than its source is built."""
        for target in (self.path("none"), self.path("program", "old")):
            command = ["sh", "-c", f"echo made >{target}"]
            self.assertEqual(built(self.path("source", "new"), target, command, "x"), target)
            with open(target) as file:
                self.assertEqual(file.read(), "made\n")

    def test_kept(self) -> None:
        """A program that is newer than its source is kept."""
        target = self.path("program", "new")
        self.assertEqual(built(self.path("source", "old"), target, ["no such compiler"], "x"), target)

    def test_no_compiler(self) -> None:
        """Without a compiler it is said what to install."""
        failure = self.assertRaises(
            NotBuilt, built, self.path("source", "new"), self.path("program"), ["no-such-cc"], "gcc libx-dev"
        )
        self.assertEqual(str(failure), "there is no no-such-cc; on Debian: apt-get install gcc libx-dev")

    def test_failed(self) -> None:
        """A compiler's error is reported in one line, with what to install."""
        command = ["sh", "-c", "echo no x.h >&2; echo bye >&2; exit 1"]
        failure = self.assertRaises(
            NotBuilt, built, self.path("source", "new"), self.path("program"), command, "libx-dev"
        )
        self.assertTrue(str(failure).startswith("on Debian: apt-get install libx-dev; "), failure)
        self.assertTrue(str(failure).endswith(": no x.h bye"), failure)


class LoadTests(SynchronousTestCase):
    def test_measured(self) -> None:
        """The output of a load is its measurement."""
        printed = '{"messages": 2, "seconds": 0.5, "errors": 0}'
        done = load.end(load.begin(None, ["echo", printed]))
        self.assertEqual(done, {"messages": 2, "seconds": 0.5, "errors": 0})

    def test_lost(self) -> None:
        """Messages that were lost are a failure."""
        failure = self.assertRaises(RuntimeError, load.end, load.begin(None, ["echo", '{"errors": 3}']))
        self.assertEqual(str(failure), "3 messages were lost")

    def test_failed(self) -> None:
        """A load that fails says why."""
        running = load.begin(None, ["sh", "-c", "echo refused >&2; exit 2"])
        self.assertEqual(str(self.assertRaises(RuntimeError, load.end, running)), "refused")

    def test_librdkafka(self) -> None:
        """A load of librdkafka has its properties after the broker's address."""
        self.patch(librdkafka, "program", lambda: "/built/load")
        self.assertEqual(
            librdkafka.command(9092, ["produce", "t", 10, 200], {"linger.ms": 5}),
            ["/built/load", "produce", "t", "10", "200", "bootstrap.servers=127.0.0.1:9092", "linger.ms=5"],
        )

    def link(self, *present: str) -> list[str]:
        """With these libraries installed: the names of what is linked, by their libraries."""
        linked: list[str] = []

        def built(source: str, target: str, command: list[str], packages: str) -> str:
            library = next(word for word in command if "rdkafka" in word and word != source)
            if library not in present:
                raise NotBuilt(f"on Debian: apt-get install {packages}")
            linked.append(f"{os.path.basename(target)}: {library}")
            return target

        self.patch(librdkafka, "built", built)
        self.patch(librdkafka, "_bundled", lambda: [name for name in present if name.endswith(".so")])
        for program in (librdkafka.program, librdkafka.bundled_program):
            program.cache_clear()
            self.addCleanup(program.cache_clear)
        return linked

    def test_debians_librdkafka_first(self) -> None:
        """Loads use Debian's librdkafka; the floor's use the one inside of confluent-kafka."""
        linked = self.link("-lrdkafka", "/inside/librdkafka.so")
        librdkafka.program()
        self.assertEqual(Floor().load_command(9092, ["consume", "t", 1], {})[0][-12:], "load-bundled")
        self.assertEqual(linked, ["load: -lrdkafka", "load-bundled: /inside/librdkafka.so"])

    def test_without_debians_librdkafka(self) -> None:
        """Without Debian's, the one inside of confluent-kafka is used by all."""
        linked = self.link("/inside/librdkafka.so")
        self.assertEqual(librdkafka.program(), librdkafka.bundled_program())
        self.assertEqual(linked, ["load-bundled: /inside/librdkafka.so"])

    def test_without_bundled_librdkafka(self) -> None:
        """Without confluent-kafka, Debian's is used by all; without either it is said what to install."""
        linked = self.link("-lrdkafka")
        librdkafka.program()
        librdkafka.bundled_program()
        self.assertEqual(linked, ["load: -lrdkafka", "load-bundled: -lrdkafka"])
        self.link()
        failure = self.assertRaises(NotBuilt, librdkafka.program)
        self.assertIn("gcc librdkafka-dev", str(failure))


class SaysTests(SynchronousTestCase):
    def ask(self, first: bytes, answer: bytes) -> bool:
        """Ask the server, which echoes in other letters."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]

            def serve() -> None:
                with listening.accept()[0] as connection:
                    connection.sendall(connection.recv(100).upper())

            thread = threading.Thread(target=serve)
            thread.start()
            try:
                return says(port, first, answer)()
            finally:
                thread.join()

    def test_answer(self) -> None:
        """It serves as soon as it answers what is expected."""
        self.assertTrue(self.ask(b"hello", b"ELL"))

    def test_other_answer(self) -> None:
        """Something else is not what is waited for."""
        self.assertFalse(self.ask(b"hello", b"ello"))

    def test_nobody(self) -> None:
        """Nothing listens yet."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        self.assertFalse(says(port, b"hello", b"HELLO")())
