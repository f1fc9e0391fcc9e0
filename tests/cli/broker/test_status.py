"""The output of ``kafkatx status``. With real brokers: tests.integration.test_cli_up."""

from __future__ import annotations

import json
import os

import attrs
from click.testing import CliRunner, Result
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker import status as module
from kafkatx.cli.broker.cluster_status import ClusterStatus, LogDirStatus, NodeStatus
from kafkatx.cli.broker.lock_holder import Holder
from kafkatx.cli.broker.status import duration, size, status
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.daemon.process_file import ProcessNote

DIRS = [LogDirStatus("/a", 7, 1536, 2**41, None), LogDirStatus("/b", 0, 0, None, "KAFKA_STORAGE_ERROR")]
FOUND = ClusterStatus(3, "h:9092", "c", 3, 1, ["PLAINTEXT://0.0.0.0:9092"], 2, 7, DIRS)


class StatusTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a data directory, and a broker that answers."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)
        self.holder = Holder()
        self.asked: list[str] = []
        for name in ("find_holder", "find_broker"):
            self.patch(module, name, lambda path: self.holder)
        self.patch(module, "running_broker", lambda path: self.holder.pid)
        self.patch(module, "ask_broker", self.ask)
        self.patch(module, "uptime_s", lambda pid: 61.0)

    def ask(self, bootstrap: str, timeout_s: float) -> ClusterStatus:
        """Answer."""
        self.asked.append(bootstrap)
        if bootstrap == "nobody:1":
            raise ConnectionFailed("no broker answers")
        return FOUND

    def invoke(self, *arguments: str, **environment: str) -> Result:
        """Run the command."""
        return CliRunner().invoke(
            status, [*arguments], env={"KAFKATX_BOOTSTRAP": None, **environment}, standalone_mode=False
        )

    def test_rows(self) -> None:
        """A row for each thing that is known; log dirs with size and free space, or their error."""
        rows = dict(line.split("\t") for line in self.invoke("-b", "h:9092").output.splitlines())
        self.assertEqual(rows["state"], "ready")
        self.assertEqual(rows["topics"], "2 (7 partitions)")
        self.assertEqual(rows["log dir"], "/b: KAFKA_STORAGE_ERROR")
        self.assertNotIn("process", rows)
        self.assertIn("log dir\t/a: 1.5 KiB in 7 partitions, 2.0 TiB free\n", self.invoke("-b", "h:1").output)

    def test_several_brokers(self) -> None:
        """A row for each of several brokers, and its log dirs; the process of one on this machine."""
        self.holder = Holder(4711)
        self.patch(module, "_cluster_id", lambda path: "c" if path == "/a" else None)
        nodes = [
            NodeStatus(1, "h:9093", "r", 4, [], DIRS[:1]),
            NodeStatus(2, "h:9094", None, 3, [], [], "gone"),
        ]
        several = attrs.evolve(
            FOUND, node_id=-1, brokers=2, listeners=[], log_dirs=[], without_leader=1, nodes=nodes
        )
        self.patch(module, "ask_broker", lambda bootstrap, timeout_s: several)
        rows = dict(line.split("\t") for line in self.invoke("-b", "h:9092").output.splitlines())
        self.assertEqual(rows["broker 1"], "h:9093, rack r, leads 4 partitions, process 4711")
        self.assertEqual(rows["broker 2"], "h:9094, leads 3 partitions, does not answer: gone")
        self.assertEqual(rows["log dir of 1"], "/a: 1.5 KiB in 7 partitions, 2.0 TiB free")
        self.assertEqual(rows["topics"], "2 (7 partitions, 1 without a leader)")
        self.assertEqual(rows["bootstrap"], "h:9092")
        self.assertNotIn("node id", rows)
        told = json.loads(self.invoke("--json", "-b", "h:9092").output)
        self.assertEqual([(one["id"], one["pid"]) for one in told["nodes"]], [(1, 4711), (2, None)])

    def test_json(self) -> None:
        """JSON has numbers, and null for what is not known."""
        told = json.loads(self.invoke("--json", "-b", "h:9092").output)
        self.assertEqual((told["ready"], told["pid"], told["version"]), (True, None, None))
        self.assertEqual(told["log_dirs"][0]["free_bytes"], 2**41)

    def test_of_a_directory(self) -> None:
        """The broker of a directory is asked where it says that it listens; its process is shown."""
        self.holder = Holder(4711)
        ProcessNote(4711, "1.2", "127.0.0.1:5", "/x.log").write(self.dir)
        rows = dict(line.split("\t") for line in self.invoke("--data", self.dir).output.splitlines())
        self.assertEqual((rows["process"], rows["version"], rows["uptime"]), ("4711", "1.2", "1 min 1 s"))
        self.assertEqual((rows["log"], self.asked), ("/x.log", ["127.0.0.1:5"]))

    def test_stale_note(self) -> None:
        """A note of another process is not believed: the broker is starting or stopping."""
        self.holder = Holder(4711)
        ProcessNote(4712, "1.2", "127.0.0.1:5").write(self.dir)
        done = self.invoke("--data", self.dir)
        self.assertEqual((done.return_value, self.asked), (1, []))
        self.assertIn("process 4711 is starting or stopping", done.output)

    def test_which_broker(self) -> None:
        """-b and KAFKATX_BOOTSTRAP go before ./data, --data before the environment; -b and --data exclude."""
        self.invoke(KAFKATX_BOOTSTRAP="e:1")
        self.invoke("-b", "b:1", KAFKATX_BOOTSTRAP="e:1")
        self.invoke()
        self.assertEqual(self.asked, ["e:1", "b:1", "127.0.0.1:9092"])
        self.holder = Holder(1)
        ProcessNote(1, "1", "127.0.0.1:5").write(self.dir)
        self.invoke("--data", self.dir, KAFKATX_BOOTSTRAP="e:1")
        self.assertEqual(self.asked[-1], "127.0.0.1:5")
        self.assertIn("give one of them", str(self.invoke("-b", "x:1", "--data", self.dir).exception))

    def test_why_without_version(self) -> None:
        """A version is unknown for another reason if the user has no right to see the log dirs."""
        self.assertIn("version\tunknown: it runs on another machine", self.invoke("-b", "h:1").output)
        hidden = attrs.evolve(FOUND, log_dirs=[], missing_rights=["log dirs need Describe on the cluster"])
        self.patch(module, "ask_broker", lambda bootstrap, timeout_s: hidden)
        self.assertIn("version\tunknown: log dirs are not shown", self.invoke("-b", "h:1").output)

    def test_command_config(self) -> None:
        """The file's addresses go before ./data; -b, --data and the environment go before the file's."""
        self.holder = Holder(1)
        ProcessNote(1, "1", "127.0.0.1:5").write(self.dir)
        path = self.mktemp()
        with open(path, "w", encoding="utf-8") as file:
            file.write("bootstrap.servers=f:1,f:2\n")
        self.invoke("--command-config", path)
        self.invoke("--command-config", path, "-b", "b:1")
        self.invoke("--command-config", path, "--data", self.dir)
        self.invoke("--command-config", path, KAFKATX_BOOTSTRAP="e:1")
        self.assertEqual(self.asked, ["f:1,f:2", "b:1", "127.0.0.1:5", "e:1"])

    def test_not_ready(self) -> None:
        """A broker that does not answer is one line and exit status 1, in JSON too."""
        done = self.invoke("-b", "nobody:1")
        self.assertEqual((done.return_value, done.output), (1, "kafkatx: no broker answers\n"))
        told = json.loads(self.invoke("-b", "nobody:1", "--json").output)
        self.assertEqual(told, {"ready": False, "problem": "no broker answers"})


class TextTests(SynchronousTestCase):
    def test_size(self) -> None:
        """Sizes have a unit."""
        shown = [size(number) for number in (0, 1023, 1536, 2**30, 2**50)]
        self.assertEqual(shown, ["0 bytes", "1023 bytes", "1.5 KiB", "1.0 GiB", "1024.0 TiB"])

    def test_duration(self) -> None:
        """Durations have their two largest units."""
        shown = [duration(seconds) for seconds in (0.4, 61, 3600, 90000)]
        self.assertEqual(shown, ["0 s", "1 min 1 s", "1 h 0 min", "1 d 1 h"])
