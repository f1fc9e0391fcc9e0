"""The store in files: its contract, its lock, its files, several dirs."""

from __future__ import annotations

import base64
import os
import uuid
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing.contracts.partition_log import TP, LogStoreContract, batch, find_retention
from kafkatx.types import TopicPartition
from tests.log.fakes import FailingFiles, Settings, crash, file_store


class FileLogStoreTests(LogStoreContract, SynchronousTestCase):
    """The contract, and what only files have."""

    def setUp(self) -> None:
        """Give every test its own log dir."""
        super().setUp()
        self.path = self.mktemp()

    def make_store(self) -> Any:
        """A store in the test's log dir."""
        return file_store(self.clock, self.path)

    def in_dir(self, *parts: str) -> str:
        """A path in the log dir."""
        return os.path.join(self.path, *parts)

    def read(self, *parts: str) -> str:
        """A file of the log dir."""
        with open(self.in_dir(*parts)) as file:
            return file.read()

    def failure(self, store: Any) -> str:
        """The message of the SettingError that opening the store ends with."""
        return str(self.failureResultOf(store.open(lambda topic: LogConfig()), SettingError).value)

    def test_locked(self) -> None:
        """A second broker is told who has the dir; after the first has closed, it gets it."""
        first = self.opened()
        self.assertEqual(
            self.failure(self.make_store()),
            f"log.dirs={os.path.abspath(self.path)}: locked by another broker (pid {os.getpid()})",
        )
        self.result(first.close())
        self.opened()

    def test_failed_open_unlocks(self) -> None:
        """A store that cannot have all its dirs keeps none of them."""
        blocker = self.mktemp()
        other = file_store(self.clock, blocker)
        self.result(other.open(lambda topic: LogConfig()))
        failed = file_store(self.clock, self.path, blocker)
        self.failure(failed)
        self.result(failed.close())
        self.assertFalse(os.path.exists(os.path.join(blocker, ".kafka_cleanshutdown")))
        self.opened()
        self.result(other.close())

    def test_not_a_directory(self) -> None:
        """A dir that cannot be made is a SettingError that names it."""
        with open(self.path, "w"):
            pass
        self.assertIn(
            f"log.dirs={os.path.abspath(self.path)}/x: ",
            self.failure(file_store(self.clock, self.path + "/x")),
        )

    def test_other_broker_id(self) -> None:
        """A dir of another broker id is refused, and the message says both."""
        self.result(self.opened().close())
        message = self.failure(file_store(self.clock, self.path, broker_id=2))
        self.assertIn("belongs to broker.id=1, not to broker.id=2", message)

    def test_files(self) -> None:
        """The names and contents of a closed dir are Apache Kafka's."""
        store = self.opened()
        topic_id = uuid.UUID("12345678-1234-5678-1234-567812345678")
        log = self.result(store.create(TP, topic_id, LogConfig()))
        self.put(log, batch([b"a", b"b"]), leader_epoch=4)
        log.advance_log_start(1)
        self.result(store.checkpoint_high_watermarks({TP: 2}))
        self.result(store.close())
        self.assertEqual(
            sorted(os.listdir(self.path)),
            [
                ".kafka_cleanshutdown",
                ".lock",
                "events-3",
                "log-start-offset-checkpoint",
                "meta.properties",
                "recovery-point-offset-checkpoint",
                "replication-offset-checkpoint",
            ],
        )
        self.assertEqual(
            sorted(os.listdir(self.in_dir("events-3"))),
            [
                "00000000000000000000.index",
                "00000000000000000000.log",
                "00000000000000000000.timeindex",
                "00000000000000000002.snapshot",
                "leader-epoch-checkpoint",
                "partition.metadata",
            ],
        )
        self.assertEqual(self.read("meta.properties"), "version=0\nbroker.id=1\n")
        self.assertEqual(self.read("log-start-offset-checkpoint"), "0\n1\nevents 3 1\n")
        self.assertEqual(self.read("recovery-point-offset-checkpoint"), "0\n1\nevents 3 2\n")
        self.assertEqual(self.read("replication-offset-checkpoint"), "0\n1\nevents 3 2\n")
        self.assertEqual(self.read("events-3", "leader-epoch-checkpoint"), "0\n1\n4 1\n")
        text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
        self.assertEqual(self.read("events-3", "partition.metadata"), f"version: 0\ntopic_id: {text}")

    def test_closed_cleanly(self) -> None:
        """A start knows whether the last process closed the store, and not whether there was one."""
        store = self.opened()
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.result(store.close())
        store = self.opened()
        self.assertTrue(store.closed_cleanly)
        crash(store)
        self.assertFalse(self.opened().closed_cleanly)

    def test_high_watermarks_of_a_crash(self) -> None:
        """After a crash the last checkpoint counts; one that is damaged, missing or too high does no harm."""
        store = self.opened()
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
        self.result(store.checkpoint_high_watermarks({TP: 2}))
        checkpoint = "replication-offset-checkpoint"
        self.assertEqual(self.read(checkpoint), "0\n1\nevents 3 2\n")
        for content, expected in (
            ("0\n1\nevents 3 2\n", 2),
            ("0\n1\nevents 3 1\n", 1),
            ("0\n1\nevents 3 9\n", 3),
            ("0\n2\nevents 3 2\n", -1),
            ("0\n1\nother 3 2\n", -1),
            ("", -1),
        ):
            crash(store)
            with open(self.in_dir(checkpoint), "w") as file:
                file.write(content)
            store = self.opened()
            self.assertEqual(store.high_watermark(TP), expected, content)
        os.unlink(self.in_dir(checkpoint))
        crash(store)
        self.assertEqual(self.opened().high_watermark(TP), -1)

    def test_clean_marker(self) -> None:
        """The marker is there between a clean shutdown and the next start, at no other time."""
        marker = self.in_dir(".kafka_cleanshutdown")
        store = self.opened()
        self.assertFalse(os.path.exists(marker))
        self.result(store.close())
        self.assertTrue(os.path.exists(marker))
        self.opened()
        self.assertFalse(os.path.exists(marker))

    def test_no_marker_after_failure(self) -> None:
        """A dir that could not be synced is not marked clean, and close() fails."""
        files = FailingFiles()
        store = file_store(self.clock, self.path, files=files)
        self.result(store.open(lambda topic: LogConfig()))
        self.put(self.result(store.create(TP, uuid.uuid4(), LogConfig())), batch([b"a"]))
        files.fail_sync = True
        self.failureResultOf(store.close(), OSError)
        self.assertFalse(os.path.exists(self.in_dir(".kafka_cleanshutdown")))
        files.fail_sync = False
        self.opened()

    def test_deleted_files(self) -> None:
        """A deleted partition's directory is renamed at once and removed after file.delete.delay.ms."""
        store = self.opened()
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.result(store.delete(TP))
        (doomed,) = [name for name in os.listdir(self.path) if name.startswith("events")]
        self.assertRegex(doomed, r"^events-3\.[0-9a-f]{32}-delete$")
        self.clock.advance(59)
        self.assertTrue(os.path.exists(self.in_dir(doomed)))
        self.clock.advance(2)
        self.assertFalse(os.path.exists(self.in_dir(doomed)))

    def test_deleted_long_name(self) -> None:
        """A topic name of 249 characters can be deleted, too."""
        store = self.opened()
        long = TopicPartition("x" * 249, 12)
        self.result(store.create(long, uuid.uuid4(), LogConfig()))
        self.result(store.delete(long))
        self.assertEqual(dict(store.logs), {})

    def test_leftovers(self) -> None:
        """The rest of a deletion is removed at the start; unknown files are left alone."""
        for name in ("a-0." + "0" * 32 + "-delete", "lost+found", "notes", "a-01", "b-x"):
            os.makedirs(self.in_dir(name))
        store = self.opened()
        self.assertEqual(dict(store.logs), {})
        left = [name for name in sorted(os.listdir(self.path)) if os.path.isdir(self.in_dir(name))]
        self.assertEqual(left, ["a-01", "b-x", "lost+found", "notes"])

    def test_empty_directory(self) -> None:
        """An empty directory is an empty log without a topic id, until create() gives it one."""
        os.makedirs(self.in_dir("old-0"))
        store = self.opened()
        old = TopicPartition("old", 0)
        self.assertEqual((store.topic_id(old), store.logs[old].log_end_offset), (uuid.UUID(int=0), 0))
        topic_id = uuid.uuid4()
        self.assertIs(self.result(store.create(old, topic_id, LogConfig())), store.logs[old])
        crash(store)
        self.assertEqual(self.opened().topic_id(old), topic_id)

    def test_no_descriptors_at_rest(self) -> None:
        """Idle partitions have no open files: there may be ten thousand of them."""
        store = self.opened()
        for number in range(20):
            self.result(store.create(TopicPartition("t", number), uuid.uuid4(), LogConfig()))
        if not os.path.exists("/proc/self/fd"):
            raise SkipTest("there is no /proc here")
        targets = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        paths = [os.readlink(target) for target in targets if os.path.lexists(target)]
        mine = [os.path.basename(path) for path in paths if path.startswith(os.path.abspath(self.path))]
        self.assertEqual(mine, [".lock"])

    def test_several_dirs(self) -> None:
        """A new partition goes to the dir with the fewest; all are found again."""
        second = self.mktemp()
        store = file_store(self.clock, self.path, second)
        self.result(store.open(lambda topic: LogConfig()))
        for number in range(4):
            self.result(store.create(TopicPartition("t", number), uuid.uuid4(), LogConfig()))
        self.assertEqual(sorted(name for name in os.listdir(second) if name.startswith("t-")), ["t-1", "t-3"])
        self.result(store.close())
        store = file_store(self.clock, self.path, second)
        self.result(store.open(lambda topic: LogConfig()))
        self.assertEqual(len(store.logs), 4)
        self.result(store.close())

    def test_same_partition_twice(self) -> None:
        """One partition in two dirs is a SettingError: it is unknown which is right."""
        second = self.mktemp()
        os.makedirs(os.path.join(second, "t-0"))
        os.makedirs(self.in_dir("t-0"))
        store = file_store(self.clock, self.path, second)
        self.assertIn("t-0 is both in", self.failure(store))
        self.assertEqual(dict(store.logs), {})

    def test_create_fails_whole(self) -> None:
        """A log whose files cannot be made leaves no directory behind."""
        files = FailingFiles()
        store = file_store(self.clock, self.path, files=files)
        self.result(store.open(lambda topic: LogConfig()))
        files.bytes_left = 0
        self.failureResultOf(store.create(TP, uuid.uuid4(), LogConfig()), OSError)
        self.assertFalse(os.path.exists(self.in_dir("events-3")))
        files.bytes_left = None
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.result(store.close())

    def test_log_start_survives_a_crash(self) -> None:
        """Records deleted before a checkpoint do not come back after a crash."""
        store = self.opened()
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
        log.advance_log_start(2)
        self.result(store.checkpoint())
        crash(store)
        self.assertEqual(self.content(self.opened().logs[TP]), [(2, b"c")])

    def test_damaged_checkpoints(self) -> None:
        """Checkpoints that are garbage are passed over."""
        store = self.opened()
        self.put(self.result(store.create(TP, uuid.uuid4(), LogConfig())), batch([b"a"]))
        self.result(store.close())
        for name in os.listdir(self.path):
            if name.endswith("checkpoint"):
                with open(self.in_dir(name), "wb") as file:
                    file.write(b"\xff\x00 nonsense\n")
        self.assertEqual(self.content(self.opened().logs[TP]), [(0, b"a")])

    def test_workers(self) -> None:
        """All that blocks runs in the worker of its dir; changes wait for one another."""
        work: list[tuple[str, Any, Deferred[Any]]] = []

        def worker_of(name: str) -> Any:
            def run(function: Any) -> Deferred[Any]:
                done: Deferred[Any] = Deferred()
                work.append((name, function, done))
                return done

            return run

        def pump() -> None:
            while work:
                name, function, done = work.pop(0)
                self.assertEqual(name, "log " + os.path.abspath(self.path))
                done.callback(function())

        store = FileLogStore(Settings(self.path), worker_of, self.clock, find_retention)
        opening = store.open(lambda topic: LogConfig())
        self.assertNoResult(opening)
        self.assertFalse(os.path.exists(self.path))
        pump()
        self.result(opening)
        topic_id = uuid.uuid4()
        first, second = store.create(TP, topic_id, LogConfig()), store.create(TP, topic_id, LogConfig())
        deleting = store.delete(TP)
        self.assertNoResult(first)
        pump()
        self.assertIs(self.result(first), self.result(second))
        self.result(deleting)
        self.assertEqual(dict(store.logs), {})
        closing = store.close()
        pump()
        self.result(closing)

    def test_config_by_topic(self) -> None:
        """A log that is found gets its topic's settings."""
        store = self.opened()
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.result(store.close())
        store = self.make_store()
        given = attrs.evolve(LogConfig(), segment_bytes=77)
        self.result(store.open({"events": given}.__getitem__))
        self.assertIs(store.logs[TP].config, given)
        self.result(store.close())
