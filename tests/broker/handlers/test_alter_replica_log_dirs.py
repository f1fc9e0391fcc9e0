"""AlterReplicaLogDirs: the request; the moves are tested with ``kafkatx.log.store.moves.mover``."""

from __future__ import annotations

import errno
import os
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import BrokerTestCase, Held, at_once

VERSIONS = range(3)


class AlterReplicaLogDirsTests(FileBrokerTestCase):
    def setUp(self) -> None:
        """Make a topic with a record; t-0 is in the first dir."""
        super().setUp()
        self.partition = self.make_topic("t", 2)[0]
        self.fill(b"a")
        self.assertEqual(self.where(), {self.dirs[0]: [False]})

    def make_broker(self, workers: Any = at_once, **settings: str) -> Any:
        """Return a broker that copies when the test says so."""
        self.copying = Held()

        def some_held(name: str) -> Any:
            return self.copying(name) if name == "relocation" else workers(name)

        self.copying.holding = False
        broker = super().make_broker(some_held, **settings)
        self.copying.holding = True
        return broker

    def move(self, path: str, *partitions: int, topic: str = "t", version: int = 2) -> dict[int, int]:
        """Ask for a move; return the codes by partition."""
        asked = AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, list(partitions))])
        (found,) = self.ask(34, version, AlterReplicaLogDirsRequest([asked])).results
        self.assertEqual(found.topic_name, topic)
        return {result.partition_index: result.error_code for result in found.partitions}

    def where(self, number: int = 0) -> dict[str, list[bool]]:
        """Return the dirs in which DescribeLogDirs shows t's partition, and if it is a future replica."""
        found: dict[str, list[bool]] = {}
        for result in self.ask(35, 1, DescribeLogDirsRequest(None)).results:
            for topic in result.topics:
                for part in topic.partitions:
                    if (topic.name, part.partition_index) == ("t", number):
                        found.setdefault(result.log_dir, []).append(part.is_future_key)
                        self.assertEqual(part.offset_lag > 0, part.is_future_key)
        return found

    def test_every_version(self) -> None:
        """A partition is a future replica of its new dir until the move ends, and is served meanwhile."""
        target, other = self.dirs[1], self.dirs[0]
        for version in VERSIONS:
            self.assertEqual(self.move(target, 0, version=version), {0: 0})
            self.assertEqual(self.where(), {other: [False], target: [True]})
            self.copying.work()
            self.assertEqual(self.where(), {target: [False]})
            self.fill(b"b")
            self.clock.advance(61)
            target, other = other, target
            self.move(target, 0)  # and back
            self.copying.work()
            self.clock.advance(61)
            target, other = other, target
        self.assertEqual(self.partition.log.log_end_offset, 1 + len(VERSIONS))

    def test_where_it_is(self) -> None:
        """A partition that is already in the dir stays there."""
        self.assertEqual(self.move(self.dirs[0], 0), {0: 0})
        self.assertEqual(self.where(), {self.dirs[0]: [False]})

    def test_refused(self) -> None:
        """Unknown dirs and partitions, and invalid names, each have their own error."""
        self.assertEqual(self.move("/nowhere", 0), {0: ErrorCode.LOG_DIR_NOT_FOUND})
        self.assertEqual(self.move(os.path.relpath(self.dirs[1]), 0), {0: ErrorCode.LOG_DIR_NOT_FOUND})
        missing = ErrorCode.REPLICA_NOT_AVAILABLE
        self.assertEqual(self.move(self.dirs[1], 0, 7, -1), {0: 0, 7: missing, -1: missing})
        self.assertEqual(self.move(self.dirs[1], 0, topic="u"), {0: missing})
        self.assertEqual(self.move(self.dirs[1], 0, topic="../t"), {0: ErrorCode.INVALID_TOPIC_EXCEPTION})

    def test_twice(self) -> None:
        """A partition that is named a thousand times has one result."""
        self.assertEqual(self.move(self.dirs[1], *[0] * 1000), {0: 0})

    def test_offline(self) -> None:
        """An offline dir accepts no partition."""
        with capturedLogs():
            log_dir: Any = self.broker.store.dirs[0]
            log_dir.take_offline(OSError(errno.EIO, "Input/output error"), "testing")
        self.assertEqual(self.move(self.dirs[0], 1), {1: ErrorCode.KAFKA_STORAGE_ERROR})
        self.assertEqual(self.move(self.dirs[1], 0), {0: ErrorCode.REPLICA_NOT_AVAILABLE})

    def test_deleted(self) -> None:
        """A topic can be deleted while it moves."""
        self.move(self.dirs[1], 0)
        self.copying.work(3)
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.copying.work()
        self.assertEqual(self.where(), {})

    def test_restart(self) -> None:
        """A moved partition is complete in its new dir after a crash."""
        self.move(self.dirs[1], 0)
        self.copying.work()
        self.fill(b"b")
        self.copying.holding = False
        self.restart(at_once)
        self.assertEqual(self.where(), {self.dirs[1]: [False]})
        self.assertEqual(self.broker.topics.of("t")[0].log.log_end_offset, 2)


class MemoryTests(BrokerTestCase):
    def test_no_dirs(self) -> None:
        """A store without dirs knows none."""
        self.make_topic()
        asked = AlterReplicaLogDir("/tmp", [AlterReplicaLogDirTopic("t", [0])])
        for version in VERSIONS:
            (found,) = self.ask(34, version, AlterReplicaLogDirsRequest([asked])).results
            self.assertEqual(found.partitions[0].error_code, ErrorCode.LOG_DIR_NOT_FOUND)
