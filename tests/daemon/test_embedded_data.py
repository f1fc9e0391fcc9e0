"""Tests of reading a stopped broker's data for an import, and of making them fit afterwards."""

from __future__ import annotations

import os
import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import AclBinding
from kafkatx.daemon.embedded_data import EmbeddedData
from kafkatx.errors import SettingError, StateLost
from kafkatx.log.checkpoint import GENERATION, encode_generation
from kafkatx.log.inspect.paths import LogDirInUse, locked
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.testing.contracts.security.acl_store import READ
from kafkatx.testing.contracts.security.acl_store import TOPIC as PATTERN
from kafkatx.types import PartitionState, Topic

ALLOWED = AclBinding(PATTERN, READ)
TOPIC = Topic("t", uuid.UUID(int=9), (PartitionState(3, 0, (3,), (3,)),), {"retention.ms": "5"})


class EmbeddedDataTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two log dirs of broker 3, and its state in the second."""
        folder = os.path.abspath(self.mktemp())
        self.paths = [os.path.join(folder, name) for name in ("a", "b")]
        for number, path in enumerate(self.paths):
            os.makedirs(path)
            with open(os.path.join(path, "meta.properties"), "w") as file:
                file.write(f"version=0\nbroker.id=3\ncluster.id=c\ndirectory.id={number}\n")
            self.note(path, 1)
        self.state = os.path.join(self.paths[1], FILE_NAME)
        database = ClusterDatabase(self.state)
        database.register(3, "cluster")
        database.create_topic(TOPIC)
        database.alter_group_configs("g", lambda _: {"a": "b"})
        database.alter_client_metrics_configs("s", lambda _: {"metrics": "*"})
        database.alter_acls([ALLOWED], [])
        database.allocate_producer_ids(2000)
        database.record({"0": self.paths[0]}, [], [])
        database.close()

    def note(self, path: str, generation: int) -> None:
        """Note a generation of the state in a log dir."""
        with open(os.path.join(path, GENERATION), "wb") as file:
            file.write(encode_generation(generation))

    def test_content(self) -> None:
        """The content has everything of the state."""
        with EmbeddedData(self.paths) as data:
            content = data.content
        self.assertEqual((content.broker_id, content.state.cluster_id), (3, "cluster"))
        self.assertEqual(content.state.topics, {"t": TOPIC})
        self.assertEqual(content.state.group_configs, {"g": {"a": "b"}})
        self.assertEqual(content.state.client_metrics_configs, {"s": {"metrics": "*"}})
        self.assertEqual(content.state.acls, {ALLOWED.pattern: frozenset([ALLOWED.entry])})
        self.assertEqual(content.recorded.log_dirs, {"0": self.paths[0]})
        self.assertEqual(content.next_producer_id, 2000)

    def test_unchanged(self) -> None:
        """Reading keeps state and log dirs, so that the broker can still be started as it was."""
        with EmbeddedData(self.paths):
            pass
        self.assertTrue(os.path.exists(self.state))
        self.assertTrue(os.path.exists(os.path.join(self.paths[0], GENERATION)))
        with EmbeddedData(self.paths) as data:
            self.assertEqual(data.content.next_producer_id, 2000)

    def test_finish(self) -> None:
        """Afterwards no log dir has a generation, and the state has another name; a second import says so."""
        with EmbeddedData(self.paths) as data:
            aside = data.finish()
        self.assertTrue(aside.endswith("-imported"))
        self.assertTrue(os.path.exists(aside))
        for path in self.paths:
            self.assertNotIn(GENERATION, os.listdir(path))
            self.assertNotIn(FILE_NAME, os.listdir(path))
        self.assertIn("was imported already", self.refusal())

    def refusal(self) -> str:
        """Return the message of data that cannot be imported."""
        return str(self.assertRaises(SettingError, EmbeddedData(self.paths).__enter__))

    def test_running(self) -> None:
        """The data of a running broker are left alone."""
        path = os.path.join(self.paths[0], ".lock")
        with open(path, "w"):
            pass
        with locked(self.paths[0]):
            self.assertRaises(LogDirInUse, EmbeddedData(self.paths).__enter__)

    def test_nothing_there(self) -> None:
        """Log dirs without a state are refused."""
        os.unlink(self.state)
        self.assertIn(f"there is no {FILE_NAME}", self.refusal())

    def test_two_brokers(self) -> None:
        """Log dirs of two brokers are refused."""
        with open(os.path.join(self.paths[0], "meta.properties"), "w") as file:
            file.write("version=0\nbroker.id=4\n")
        self.assertIn("they belong to 2 brokers", self.refusal())

    def test_older_state(self) -> None:
        """A state that is older than the log dirs is refused: topics may be missing in it."""
        self.note(self.paths[0], 1000)
        self.assertIn("is older than the log dirs", self.refusal())

    def test_two_states(self) -> None:
        """Two states are refused."""
        with open(self.state, "rb") as file, open(os.path.join(self.paths[0], FILE_NAME), "wb") as copy:
            copy.write(file.read())
        self.assertRaises(StateLost, EmbeddedData(self.paths).__enter__)
