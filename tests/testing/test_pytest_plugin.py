"""The fixture that pytest has where kafkatx is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

EXAMPLE = """
import socket


def test_one(kafkatx_broker):
    host, _, port = kafkatx_broker.bootstrap.rpartition(":")
    socket.create_connection((host, int(port))).close()
    test_one.bootstrap = kafkatx_broker.bootstrap


def test_same_broker(kafkatx_broker):
    assert kafkatx_broker.bootstrap == test_one.bootstrap
"""


FRESH = """
import pytest
from kafkatx.testing import EmbeddedBroker

brokers = []


@pytest.fixture
def kafkatx_settings():
    return {"num.partitions": 7}


@pytest.mark.parametrize("number", [0, 1])
def test_fresh(kafkatx_fresh_broker, kafkatx_async_broker, number):
    brokers.append(kafkatx_fresh_broker)
    assert len(set(brokers)) == number + 1
    assert kafkatx_async_broker.broker is kafkatx_fresh_broker
    assert kafkatx_fresh_broker.settings["num.partitions"] == "7"
    assert kafkatx_fresh_broker.settings["kafkatx.storage"] == "memory"
"""
CLUSTER = """
def test_brokers(kafkatx_cluster):
    assert list(kafkatx_cluster.brokers) == [1, 2, 3]
    kafkatx_cluster.brokers[2].log.append("said by the second broker")
    assert False
"""
LOGGED = """
from kafkatx.testing import EmbeddedBroker


def test_passes(kafkatx_broker):
    kafkatx_broker.log.append("said in the first test")


def test_session(kafkatx_broker):
    kafkatx_broker.log.append("said in the second test")
    assert False


def test_own():
    with EmbeddedBroker() as broker:
        assert not broker.topic("a-topic-of-mine")


def test_none():
    assert False
"""


class FixtureTests(SynchronousTestCase):
    def run_pytest(self, text: str) -> str:
        """Run pytest on a test module; return what it prints."""
        directory = os.path.abspath(self.mktemp())
        os.makedirs(directory)
        with open(os.path.join(directory, "test_example.py"), "w") as file:
            file.write(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def test_session(self) -> None:
        """A test that names kafkatx_broker gets a running broker, one for the whole session."""
        printed = self.run_pytest(EXAMPLE)
        self.assertIn("2 passed", printed, printed)

    def test_fresh(self) -> None:
        """Each test gets a broker of its own with the module's settings, blocking and to be awaited."""
        printed = self.run_pytest(FRESH)
        self.assertIn("2 passed", printed, printed)

    def test_cluster(self) -> None:
        """A test that names kafkatx_cluster gets three brokers, and its report has the logs of all."""
        printed = self.run_pytest(CLUSTER)
        self.assertIn("said by the second broker", printed.partition("Captured")[0], printed)
        self.assertEqual(printed.count("kafkatx broker log 127.0.0.1"), 3, printed)

    def test_log_section(self) -> None:
        """The report of a failed test has what its brokers logged during the test, and nothing of others."""
        printed = self.run_pytest(LOGGED)
        _, session, own, none = re.split("_ test_[a-z]+ _", printed)
        self.assertIn("said in the second test", session)
        self.assertNotIn("said in the first test", printed)
        self.assertRegex(own, r"kafkatx broker log 127.0.0.1:\d+")
        self.assertIn("a-topic-of-mine", own.partition("kafkatx broker log")[2])
        self.assertNotIn("kafkatx broker log", none)
        self.assertEqual(printed.count("kafkatx broker log"), 2)

    def test_light(self) -> None:
        """The plugin imports kafkatx when a fixture is used, not before."""
        program = "import kafkatx.testing.pytest_plugin, sys; print('twisted' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.stdout, "False\n", done.stderr)
