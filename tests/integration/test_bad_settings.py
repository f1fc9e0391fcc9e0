"""Mistakes in settings: ``twistd kafkatx`` exits with status 1 and one line that names the setting."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import BrokerDidNotStart, EmbeddedBroker

TWISTD = [
    sys.executable,
    "-c",
    "from twisted.scripts.twistd import run; run()",
    "-n",
    "--pidfile=",
    "kafkatx",
]
ANY_PORT = "listeners=PLAINTEXT://127.0.0.1:0"
END_S = 30.0


class BadSettingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a directory to start in: the default log.dirs is below it."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)

    def check_ends(self, *words: str, sets: tuple[str, ...] = (), options: tuple[str, ...] = ()) -> None:
        """A start with these settings ends with status 1, and one line on standard error has the words."""
        command = [*TWISTD, *options]
        for pair in sets:
            command += ["--set", pair]
        done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True, timeout=END_S)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        (line,) = done.stderr.splitlines()
        for word in words:
            self.assertIn(word, line)
        self.assertNotIn("Traceback", done.stdout)

    def test_unknown_setting(self) -> None:
        """A name that there is not; the nearest that there is comes along."""
        self.check_ends("num.partition:", "num.partitions?", sets=("num.partition=3",))

    def test_bad_value(self) -> None:
        """A value that the setting cannot have."""
        self.check_ends("num.partitions", "many", sets=("num.partitions=many",))
        self.check_ends("listeners", "nonsense", sets=("listeners=nonsense",))

    def test_unknown_plugin(self) -> None:
        """A plugin that is not installed, with those that are."""
        for setting, nearest in (
            ("kafkatx.storage", "file"),
            ("kafkatx.metadata.store", "embedded"),
            ("kafkatx.retention", "time"),
        ):
            self.check_ends(f"{setting}=nothing", nearest, sets=(f"{setting}=nothing",))

    def test_settings_file(self) -> None:
        """A settings file that is not there, or has a bad value."""
        self.check_ends("nowhere.properties", options=("--config", "nowhere.properties"))
        with open(os.path.join(self.dir, "server.properties"), "w") as file:
            file.write("log.segment.bytes=-5\n")
        self.check_ends("log.segment.bytes", "-5", options=("--config", "server.properties"))

    def test_port_in_use(self) -> None:
        """A port that another process has."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            listener = f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"
            self.check_ends(f"listeners={listener}", sets=(f"listeners={listener}",))

    def test_address_of_another_machine(self) -> None:
        """An address that is not this machine's."""
        listener = "PLAINTEXT://192.0.2.1:0"
        self.check_ends(f"listeners={listener}", sets=(f"listeners={listener}",))

    def test_log_dir_not_writable(self) -> None:
        """A directory that cannot be made, or where a file stands in the way."""
        in_the_way = os.path.join(self.dir, "file")
        with open(in_the_way, "w"):
            pass
        for path in ("/proc/kafkatx", in_the_way, os.path.join(in_the_way, "below")):
            self.check_ends("log.dirs", path, sets=(ANY_PORT, f"log.dirs={path}"))

    def test_second_log_dir_not_writable(self) -> None:
        """One that is not the first is offline, as in Apache Kafka; the broker starts with the others."""
        good = os.path.join(self.dir, "good")
        with EmbeddedBroker({"log.dirs": f"{good},/proc/kafkatx"}, run_in="process") as broker:
            self.assertRegex(broker.output(), "log dir /proc/kafkatx is offline")

    def test_log_dir_locked(self) -> None:
        """A directory that another broker has open; that one goes on."""
        data = os.path.join(self.dir, "data")
        with EmbeddedBroker(data_dir=data, run_in="process") as first:
            self.check_ends("log.dirs", data, "another broker", sets=(ANY_PORT, f"log.dirs={data}"))
            with self.assertRaisesRegex(BrokerDidNotStart, "log.dirs"):
                EmbeddedBroker(data_dir=data).start()
            host, _, port = first.bootstrap.rpartition(":")
            socket.create_connection((host, int(port))).close()

    def test_log_dir_of_another_broker(self) -> None:
        """A directory that belongs to another broker.id."""
        data = os.path.join(self.dir, "data")
        with EmbeddedBroker(data_dir=data, run_in="process"):
            pass
        self.check_ends("broker.id", sets=(ANY_PORT, f"log.dirs={data}", "broker.id=7"))

    def test_set_without_value(self) -> None:
        """--set without a value is a mistake of usage, told with how it is used."""
        done = subprocess.run(
            [*TWISTD, "--set", "num.partitions"], cwd=self.dir, capture_output=True, text=True, timeout=END_S
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("must be name=value", done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stdout + done.stderr)
