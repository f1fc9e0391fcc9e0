"""The output of ``kafkatx up``. The command itself: tests.integration.test_cli_up."""

from __future__ import annotations

import os

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx import __version__
from kafkatx.cli.broker.up import Started, _tell_outcome
from kafkatx.daemon.background import Outcome
from kafkatx.errors import KafkaTXError


class StartedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make one whose clients dial another name."""
        data = [os.path.abspath("data")]
        self.started = Started("kafka.example.org:9092", "127.0.0.1:9092", data, 4711, 0.44)

    def test_line(self) -> None:
        """A program gets one line with the address, the data directory and the process id."""
        where = os.path.abspath("data")
        self.assertEqual(
            self.started.line(),
            f"kafkatx {__version__} is ready: clients connect to kafka.example.org:9092, data in {where}"
            " (process 4711)\n",
        )
        self.assertIn(", data in memory (", attrs.evolve(self.started, data=[]).line())

    def test_banner(self) -> None:
        """A person is told the address, where the data are, what to type next and how to stop it."""
        shown = self.started.banner()
        self.assertIn("clients connect to  kafka.example.org:9092\n", shown)
        self.assertIn("\n  kafkatx status\n", shown)
        self.assertIn("Ctrl-C stops the broker.\n", shown)
        self.assertNotIn("kafkatx stop", shown)

    def test_http(self) -> None:
        """Both tell the schema registry and, if there is one, the console."""
        http = attrs.evolve(self.started, http="http://127.0.0.1:8081")
        self.assertIn(", schema registry at http://127.0.0.1:8081, data in ", http.line())
        console = attrs.evolve(http, console=True)
        self.assertIn(", console at http://127.0.0.1:8081/console/, data", console.line())
        self.assertIn("\n  console             http://127.0.0.1:8081/console/\n", console.banner())
        self.assertNotIn("console ", attrs.evolve(console, http=None).banner())

    def test_several(self) -> None:
        """Several brokers are counted."""
        several = attrs.evolve(self.started, brokers=4)
        self.assertIn(" (process 4711, 4 brokers)\n", several.line())
        self.assertIn("brokers             4, each in a process of its own\n", several.banner())
        self.assertIn("Ctrl-C stops the brokers.\n", several.banner())

    def test_banner_of_another_address(self) -> None:
        """Commands name the broker if it is not at the default address."""
        shown = attrs.evolve(self.started, bootstrap="127.0.0.1:1").banner()
        self.assertIn("\n  echo hello | kafkatx produce greetings -b 127.0.0.1:1\n", shown)

    def test_banner_of_a_daemon(self) -> None:
        """In the background it names the log, and the command that stops it."""
        daemon = attrs.evolve(self.started, log_file="/x y/kafkatx.log")
        self.assertIn("log                 /x y/kafkatx.log\n", daemon.banner())
        self.assertIn("\n  kafkatx stop\n", daemon.banner())
        self.assertIn("  kafkatx stop --data '/x y'\n", attrs.evolve(daemon, data=["/x y"]).banner())
        self.assertNotIn("Ctrl-C", daemon.banner())

    def test_escaped(self) -> None:
        """A directory's name commands no terminal."""
        hostile = attrs.evolve(self.started, data=["/a\x1b[31m\n"], log_file="/a\x1b[31m\n")
        self.assertNotIn("\x1b", hostile.banner() + hostile.line())
        self.assertEqual(hostile.line().count("\n"), 1)


class OutcomeTests(SynchronousTestCase):
    def test_failure(self) -> None:
        """A daemon that could not start is an error with its reason; one that died names the log."""
        with self.assertRaisesRegex(KafkaTXError, "^no port$"):
            _tell_outcome(Outcome(False, "no port"), "/x/kafkatx.log")
        with self.assertRaisesRegex(KafkaTXError, "before it was ready; see /x/kafkatx.log"):
            _tell_outcome(Outcome(False, ""), "/x/kafkatx.log")
