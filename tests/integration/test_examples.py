"""The programs in ``docs/examples`` do what the pages say."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.threads import Admin, Producer
from kafkatx.testing import EmbeddedBroker
from tests.ports import free_port
from tests.test_readme import ROOT, Broker

EXAMPLES = ROOT / "docs/examples"


class ExampleTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a folder for the example's data."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)

    def run_python(self, *arguments: str) -> str:
        """Run this environment's Python in the test's folder; return what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout


class ExampleTests(ExampleTestCase):
    def test_embedded_faults(self) -> None:
        """A message whose first reply is lost is there once."""
        self.run_python(str(EXAMPLES / "embedded_faults.py"))

    def test_embedded_cluster(self) -> None:
        """A client finds both brokers, also after one was killed."""
        printed = self.run_python(str(EXAMPLES / "embedded_cluster.py"))
        self.assertEqual(printed, "in partition 0\nin partition 1\n")

    def test_embedded_broker(self) -> None:
        """A program starts a broker in its own process and talks to it with kafka-python."""
        self.assertEqual(self.run_python(str(EXAMPLES / "embedded_broker.py")), "one\ntwo\nthree\n")

    def test_pytest_fixture(self) -> None:
        """pytest finds the fixture without any conftest, by the entry point of the distribution."""
        printed = self.run_python(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_fixture.py")
        )
        self.assertIn("1 passed", printed)

    def test_pytest_fresh_fixture(self) -> None:
        """A test module's settings are those of its brokers."""
        printed = self.run_python(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_fresh_fixture.py")
        )
        self.assertIn("1 passed", printed)

    def test_pytest_async_fixture(self) -> None:
        """A coroutine awaits the broker's methods, whichever plugin runs it; here it is the tests' own."""
        plugin = "tests.testing.coroutine_plugin"
        test = str(EXAMPLES / "test_async_fixture.py")
        printed = self.run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, test)
        self.assertIn("1 passed", printed)

    def test_embedded_async(self) -> None:
        """A program starts and stops a broker from asyncio."""
        expected = "0 b'a'\n1 b'b'\n2 b'c'\n"
        self.assertEqual(self.run_python(str(EXAMPLES / "embedded_async.py")), expected)

    def test_trial(self) -> None:
        """A test for trial awaits the broker's methods under Twisted's reactor."""
        shutil.copy(EXAMPLES / "test_trial.py", self.folder)
        self.assertIn("PASSED (successes=1)", self.run_python("-m", "twisted.trial", "test_trial"))
        trial = os.path.join(os.path.dirname(sys.executable), "trial")
        self.assertIn("PASSED (successes=1)", self.run_python(trial, "./test_trial.py"))

    def test_cluster_trial(self) -> None:
        """A test for trial cuts off and restarts brokers of a cluster under Twisted's reactor."""
        command = "import sys; sys.path[:0] = sys.argv[1:]; from twisted.scripts.trial import run; "
        command += "sys.argv[1:] = ['test_cluster_trial']; run()"
        self.assertIn("PASSED (successes=1)", self.run_python("-c", command, str(EXAMPLES)))

    def test_pytest_cluster_fixture(self) -> None:
        """A coroutine awaits the methods of a cluster of its own."""
        plugin = "tests.testing.coroutine_plugin"
        test = str(EXAMPLES / "test_cluster_fixture.py")
        printed = self.run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, test)
        self.assertIn("1 passed", printed)

    def test_unittest(self) -> None:
        """A test case of unittest starts a broker and closes it."""
        self.run_python(str(EXAMPLES / "test_unittest.py"))

    def test_application(self) -> None:
        """A .tac file with a broker inside starts, serves and stops with its application."""
        port = free_port()
        text = (EXAMPLES / "application.tac").read_text()
        text = text.replace("9092", str(port)).replace('"data"', f'"{self.folder}/data"')
        (self.folder / "application.tac").write_text(text)
        twistd = f"exec '{sys.executable}' -c 'from twisted.scripts.twistd import run; run()'"
        command = f"{twistd} --pidfile= -ny '{self.folder}/application.tac'"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ready = f"clients may connect to 127.0.0.1:{port}"
        broker = Broker(command, environment, self.folder / "output.txt", ready)
        self.addCleanup(broker.stop)
        self.assertIn(broker.stop(), (0, -signal.SIGINT))
        self.assertTrue((self.folder / "data/.kafka_cleanshutdown").exists(), broker.output())


class Sent(NamedTuple):
    """A record that an example finds in its topic."""

    value: bytes
    partition: int = 0
    key: bytes | None = None
    timestamp_ms: int | None = None


TURNS = [Sent(b"%d" % number, number % 2) for number in range(6)]
"""Six records, in two partitions by turns."""
SEEDS = ["[b'2', b'4'] 3", str([b"%d" % number for number in range(6)])]
"""What both consumers of Kafka 0.7 read of them."""


class ClientExampleTests(ExampleTestCase):
    """The programs in ``docs/examples/client``, each with a broker of its own."""

    def printed(self, name: str, topics: Mapping[str, Iterable[Sent]] = MappingProxyType({})) -> list[str]:
        """The lines that an example prints where these topics, of two partitions each, hold these records."""
        with EmbeddedBroker({"group.initial.rebalance.delay.ms": "0"}) as broker:
            with Admin(bootstrap_servers=broker.bootstrap) as admin, Producer(beside=admin) as producer:
                for topic, records in topics.items():
                    admin.create_topic(topic, 2)
                    for value, partition, key, timestamp_ms in records:
                        producer.send(topic, value, key, partition, timestamp_ms=timestamp_ms).result()
            text = (EXAMPLES / f"client/{name}.py").read_text()
            self.assertIn("127.0.0.1:9092", text)
            program = self.folder / f"{name}.py"
            program.write_text(text.replace("127.0.0.1:9092", broker.bootstrap))
            return self.run_python(str(program)).splitlines()

    def test_every_example_is_run(self) -> None:
        """There is a test for each of them, named after it."""
        found = {path.stem for path in (EXAMPLES / "client").glob("*.py")}
        self.assertGreater(len(found), 8)
        self.assertEqual({name for name in found if not hasattr(self, f"test_{name}")}, set())

    def test_schemas(self) -> None:
        """A dict and an object with an Avro schema are read as dicts."""
        with EmbeddedBroker({"http.listeners": "HTTP://127.0.0.1:0"}, run_in="process") as broker:
            text = (EXAMPLES / "client/schemas.py").read_text()
            text = text.replace("127.0.0.1:9092", broker.bootstrap).replace(
                "http://127.0.0.1:8081", broker.http
            )
            path = self.folder / "schemas.py"
            path.write_text(text)
            printed = self.run_python(str(path)).splitlines()
        expected = ["{'id': 1, 'name': 'Ann', 'age': None}", "{'id': 2, 'name': 'Ben', 'age': 33}"]
        self.assertEqual(printed, expected)

    def test_producer(self) -> None:
        """Records go out one by one, as a list, and many at a time; nothing is lost in between."""
        expected = [
            "one record at offset 0",
            "3 records at offsets 1 to 3",
            "1000 more, the last at offset 1003",
        ]
        self.assertEqual(self.printed("producer"), expected)

    def test_consumer(self) -> None:
        """A member of a group reads its topic from the beginning."""
        orders = [Sent(b"first", key=b"ann"), Sent(b"last", key=b"bob")]
        expected = ["0 b'ann' b'first'", "1 b'bob' b'last'"]
        self.assertEqual(self.printed("consumer", {"orders": orders}), expected)

    def test_groups(self) -> None:
        """A listener hears of both partitions, and what was read is committed."""
        both = "payments-new-0 payments-new-1"
        expected = [f"assigned: {both}", "committed: 3 3", f"revoked: {both}"]
        self.assertEqual(self.printed("groups", {"payments-new": TURNS}), expected)

    def test_assign(self) -> None:
        """A partition is read from an offset, from its beginning and from a time."""
        readings = [
            Sent(b"%d" % number, timestamp_ms=1_700_000_000_000 + 300 * number) for number in range(4)
        ]
        expected = ["from offset 2: b'2'", "from the beginning: b'0'", "from a time: b'2'", "next is 3 of 4"]
        self.assertEqual(self.printed("assign", {"readings": readings}), expected)

    def test_processor(self) -> None:
        """Each record is processed once, and then it ends."""
        expected = [str([b"%d" % number for number in range(6)])]
        self.assertEqual(self.printed("processor", {"mails": TURNS}), expected)

    def test_simple(self) -> None:
        """A partition is read to its end, and two at once."""
        expected = ["0 b'0'", "1 b'2'", "2 b'4'", "[[b'2', b'4'], [b'1', b'3', b'5']]"]
        self.assertEqual(self.printed("simple", {"clicks": TURNS}), expected)

    def test_connector(self) -> None:
        """Two threads read all topics of a filter, and no others."""
        topics = {"pages": TURNS[:4], "pages-old": [Sent(b"x"), Sent(b"y", 1)], "others": [Sent(b"no")]}
        expected = [str([b"0", b"1", b"2", b"3", b"x", b"y"])]
        self.assertEqual(self.printed("connector", topics), expected)

    def test_admin(self) -> None:
        """A topic is made, changed, read about and deleted."""
        expected = [
            "partitions: 3",
            "retention.ms: 60000",
            "archive in invoices-0: 2 to read",
            "first offset: 2",
            "topics: []",
        ]
        self.assertEqual(self.printed("admin"), expected)

    def test_aio(self) -> None:
        """The asyncio example reads what it sends."""
        self.assertEqual(self.printed("aio"), ["0 b'a'", "1 b'b'", "2 b'c'"])

    def test_threads(self) -> None:
        """The blocking example reads what it sends."""
        self.assertEqual(self.printed("threads"), ["offsets: [0, 1, 2]", "total: 3"])

    def test_aio_seeds(self) -> None:
        """In asyncio a partition is read from an offset, and two tasks share a topic's streams."""
        self.assertEqual(self.printed("aio_seeds", {"visits": TURNS}), SEEDS)

    def test_threads_seeds(self) -> None:
        """Two threads of a program that blocks do the same."""
        self.assertEqual(self.printed("threads_seeds", {"visits": TURNS}), SEEDS)

    def test_plugs(self) -> None:
        """Partitioner, serializers and callbacks of the application's own are used."""
        header = "{'total': 12} [('shop', b'online')]"
        self.assertEqual(self.printed("plugs", {"baskets": []}), [f"0 b'se' {header}", f"1 b'it' {header}"])
