"""``kafkatx up --brokers``: one cluster of several processes, as a user starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
from typing import Any

from tests.integration.test_cli_up import KAFKATX, UpCase
from tests.integration.test_signals import alive
from tests.integration.zookeeper import ZooKeeperServer
from tests.until import until

PIDS = re.compile(r"broker (\S+) is ready: (\S+) \(process (\d+)\)")
RECORDS = 500


class SeveralCase(UpCase):
    """Starts clusters in a directory of the test's own."""

    def cluster(self, brokers: int, *arguments: str) -> subprocess.Popen[str]:
        """Start a cluster, and wait until it is ready; :attr:`log` grows while it runs."""
        self.log = ""
        process = self.start("--brokers", str(brokers), "--log-level", "info", *arguments)
        self.addCleanup(self.end_children, process.pid)
        assert process.stderr is not None
        stderr = process.stderr

        def read() -> None:
            for line in stderr:
                self.log += line

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"is ready: clients connect to (\S+), .* (\d+) brokers\)", line)
        if found is None:
            process.wait(60)
            self.reader.join(10)
            raise self.failureException(line + self.log)
        self.assertEqual(int(found[2]), brokers)
        self.bootstrap = found[1]
        return process

    def end_children(self, pid: int) -> None:
        """Check that a cluster has left no process."""
        children = [int(found[2]) for found in PIDS.findall(self.log)]
        until(lambda: not any(map(alive, children)), f"the brokers of process {pid} have ended")

    def stopped(self, process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> None:
        """Stop a cluster; it ends with 0."""
        process.send_signal(number)
        assert process.stdout is not None
        self.assertEqual((process.stdout.read(), process.wait(60)), ("kafkatx has stopped\n", 0))
        self.reader.join(10)
        self.assertNotIn("Traceback", self.log)

    def kafkatx(self, *arguments: str, code: int = 0) -> str:
        """Run a command against the cluster; return its output."""
        return self.run_command(*arguments, "-b", self.bootstrap, code=code).stdout

    def produce(self, topic: str, first: int = 0) -> None:
        """Send numbered records, spread over the partitions by their keys."""
        with open(os.path.join(self.dir, "lines"), "w") as file:
            file.write("".join(f"k{number}:v{number}\n" for number in range(first, first + RECORDS)))
        self.kafkatx("produce", topic, "lines", "-K", ":")

    def consumed(self, topic: str, *options: str) -> set[str]:
        """Return all values of a topic."""
        return set(self.kafkatx("consume", topic, "-e", *options).split())

    def status(self) -> dict[str, Any]:
        """Return what ``kafkatx cluster status`` says; it may end with 1."""
        done = subprocess.run(
            [*KAFKATX, "cluster", "status", "--json", "-b", self.bootstrap],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def values(self, end: int = RECORDS) -> set[str]:
        """Return the values of the records with a number below *end*."""
        return {f"v{number}" for number in range(end)}

    def pid(self, broker: str) -> int:
        """Return the process of a broker that was ready last."""
        return int([found[2] for found in PIDS.findall(self.log) if found[0] == broker][-1])


class LifeTests(SeveralCase):
    def test_life(self) -> None:
        """Two brokers are one cluster at one port; a killed one comes back with its data; all stop."""
        process = self.cluster(2)
        self.kafkatx("topics", "create", "t", "--partitions", "4")
        self.produce("t")
        self.assertEqual(self.consumed("t"), self.values())
        self.assertEqual(self.consumed("t", "-G", "g"), self.values())
        found = json.loads(self.run_command("status", "--json", "--data", "data").stdout)
        self.assertEqual((found["pid"], found["brokers"]), (process.pid, 2))
        self.assertEqual([node["pid"] for node in found["nodes"]], [self.pid("1"), self.pid("2")])
        self.assertEqual(self.healthy(), {1: 2, 2: 2})
        os.kill(self.pid("1"), signal.SIGKILL)
        until(lambda: len(PIDS.findall(self.log)) == 3, "the killed broker is ready again")
        self.assertIn("has ended: signal 9 (SIGKILL); it is started again in 0.5 s", self.log)
        until(lambda: self.healthy() == {1: 2, 2: 2}, "its partitions have a leader")
        self.produce("t", RECORDS)
        self.assertEqual(self.consumed("t"), self.values(2 * RECORDS))
        self.assertEqual(self.consumed("t", "-G", "g"), self.values(2 * RECORDS) - self.values())
        self.stopped(process)
        self.assertEqual(self.log.count("kafkatx has stopped: every log is flushed"), 2)
        left = {name for name in os.listdir(self.data) if not name.startswith((".", "kafkatx-tree.sqlite3"))}
        self.assertEqual(left, {"1", "2"})
        process = self.cluster(2)
        self.assertEqual(self.consumed("t"), self.values(2 * RECORDS))
        self.stopped(process, signal.SIGINT)

    def healthy(self) -> dict[int, int]:
        """Return how many partitions of the topic each broker leads; nothing if one has no leader."""
        status = self.status()
        rows = self.kafkatx("topics", "describe", "t").splitlines()
        leaders = [int(row.split("\t")[1]) for row in rows]
        if -1 in leaders or status["offline"]:
            return {}
        return {leader: leaders.count(leader) for leader in sorted(set(leaders))}

    def test_supervisor_killed(self) -> None:
        """No broker outlives its supervisor, and the cluster starts again."""
        process = self.cluster(2)
        self.kafkatx("topics", "create", "t", "--partitions", "4")
        self.produce("t")
        process.kill()
        self.end_children(process.pid)
        process.wait()
        process = self.cluster(2)
        self.assertEqual(self.consumed("t"), self.values())
        self.stopped(process)

    def test_old_directory(self) -> None:
        """A directory that one broker has used opens with its topics, configs, offsets and records."""
        alone = self.start()
        self.bootstrap = self.ready(alone)
        self.kafkatx("topics", "create", "t", "--partitions", "3", "--config", "retention.ms=86400000")
        self.produce("t")
        self.assertEqual(self.consumed("t", "-G", "g"), self.values())
        cluster_id = json.loads(self.kafkatx("status", "--json"))["cluster_id"]
        self.end(alone)
        process = self.cluster(3)
        self.assertEqual(json.loads(self.kafkatx("status", "--json"))["cluster_id"], cluster_id)
        self.assertEqual(self.consumed("t"), self.values())
        self.assertIn("retention.ms", self.kafkatx("configs", "describe", "--topic", "t"))
        self.produce("t", RECORDS)
        self.assertEqual(self.consumed("t", "-G", "g"), self.values(2 * RECORDS) - self.values())
        self.kafkatx("topics", "create", "u", "--partitions", "3")
        rows = self.kafkatx("topics", "describe", "u").splitlines()
        self.assertEqual({row.split("\t")[1] for row in rows}, {"0", "2", "3"})
        self.stopped(process)
        kept = [name for name in os.listdir(self.data) if name.startswith("kafkatx-cluster.sqlite3")]
        self.assertTrue(kept and all("-imported" in name for name in kept), kept)
        refused = self.run_command("up", "--port", "0", code=1)
        self.assertIn("belongs to a cluster of several brokers", refused.stderr)
        process = self.cluster(3)
        self.assertEqual(self.consumed("t"), self.values(2 * RECORDS))
        self.stopped(process)


class DaemonTests(SeveralCase):
    def test_systemd(self) -> None:
        """systemd hears of the cluster once, when all are ready, and of its stop; all lines are JSON."""
        with (
            tempfile.TemporaryDirectory() as folder,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard,
        ):
            path = os.path.join(folder, "notify")
            heard.bind(path)
            heard.settimeout(60)
            self.environment["NOTIFY_SOCKET"] = path
            process = self.start("--brokers", "2", "--log-level", "info", "--log-format", "json")
            self.assertEqual(heard.recv(100), b"READY=1")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(heard.recv(100), b"STOPPING=1")
            _, logged = process.communicate(timeout=60)
            heard.setblocking(False)
            self.assertRaises(BlockingIOError, heard.recv, 100)
        lines = [json.loads(line) for line in logged.splitlines()]
        self.assertEqual({line.get("broker") for line in lines}, {None, "1", "2"})

    def test_daemon(self) -> None:
        """In the background status and stop work, and the log has the lines of all."""
        started = self.run_command("up", "--daemon", "--brokers", "2", "--port", "0")
        found = re.search(r"process (\d+), 2 brokers", started.stdout)
        assert found is not None, started.stdout
        pid = int(found[1])
        self.assertEqual(json.loads(self.run_command("status", "--json").stdout)["pid"], pid)
        log = os.path.join(self.data, "kafkatx.log")
        os.kill(pid, signal.SIGHUP)
        until(lambda: "SIGHUP: the brokers read their settings again" in self.read(log), "SIGHUP")
        os.rename(log, log + ".1")
        os.kill(pid, signal.SIGUSR1)
        until(lambda: os.path.exists(log), "a new log file")
        self.run_command("stop")
        self.assertEqual(self.read(log).count("kafkatx has stopped: every log is flushed"), 2)
        self.log = self.read(log + ".1")
        self.assertRegex(self.log, r"(?m)^\[1\] .* kafkatx is ready: broker 1")
        self.end_children(pid)

    def read(self, path: str) -> str:
        """Return the text of a file."""
        with open(path) as file:
            return file.read()


class ZooKeeperTests(SeveralCase):
    def test_racks(self) -> None:
        """On ZooKeeper the brokers have generated ids, and this host as their rack."""
        server = ZooKeeperServer()
        self.addCleanup(server.stop)
        process = self.cluster(2, "--zookeeper", f"127.0.0.1:{server.port}/several")
        brokers = self.status()["brokers"]
        self.assertEqual([each["rack"] for each in brokers], [socket.gethostname()] * 2)
        self.assertEqual(len({each["id"] for each in brokers}), 2)
        self.kafkatx("topics", "create", "t", "--partitions", "4")
        self.produce("t")
        self.assertEqual(self.consumed("t"), self.values())
        self.stopped(process)
        self.assertNotIn("kafkatx-tree.sqlite3", os.listdir(self.data))
