"""The lives in the files of log dirs: recorded, compared, and told from copies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define
from twisted.internet.defer import Deferred, execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs import broker_life
from kafkatx.broker.replica.logs.broker_life import NAME, ProcessLife, boot_id, read_life, write_life
from kafkatx.metadata.layout.incarnations import LifeRecord

T = TypeVar("T")


@define
class FakeDir:
    """A log dir of an open store."""

    path: str
    directory_id: str
    lock: str = "1:2"
    error: OSError | None = None
    emptied: bool = False


def workers(name: str) -> Callable[[Callable[[], Any]], Deferred[Any]]:
    """Return a worker that works at once."""
    return execute


class FileTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir."""
        self.path = self.mktemp()
        os.makedirs(self.path)

    def test_round_trip(self) -> None:
        """A record that was written is read, as an original; only its user may read it."""
        self.assertIsNone(read_life(self.path))
        for lives in (["one"], ["one", "two"]):
            write_life(self.path, lives)
            self.assertEqual(read_life(self.path), LifeRecord(lives, True))
        self.assertEqual(os.stat(os.path.join(self.path, NAME)).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.path), [NAME])

    def test_copied(self) -> None:
        """A copy is told from the original, which may be moved by a rename."""
        write_life(self.path, ["one"])
        copy, moved = self.mktemp(), self.mktemp()
        shutil.copytree(self.path, copy)
        os.rename(self.path, moved)
        self.assertEqual(read_life(copy), LifeRecord(["one"], False))
        self.assertEqual(read_life(moved), LifeRecord(["one"], True))

    def test_kept(self) -> None:
        """The latest lives are kept, and not all that ever were."""
        self.patch(broker_life, "KEPT", 2)
        write_life(self.path, ["one", "two", "three"])
        self.assertEqual(read_life(self.path), LifeRecord(["two", "three"], True))

    def test_damaged(self) -> None:
        """A damaged record is none; one that was half written before is replaced."""
        for content in (b"", b"{", b"[]", b'{"lives":3,"file":"1:1"}', b"\xff"):
            with open(os.path.join(self.path, NAME), "wb") as file:
                file.write(content)
            self.assertIsNone(read_life(self.path), content)
        with open(os.path.join(self.path, f"{NAME}.tmp"), "wb") as file:
            file.write(b"x")
        write_life(self.path, ["one"])
        self.assertEqual(read_life(self.path), LifeRecord(["one"], True))

    def test_boot_id(self) -> None:
        """The boot id is that of the system; an empty text where there is none."""
        self.assertEqual(boot_id(os.path.join(self.path, "none")), "")


class ProcessTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two log dirs, and registered lives."""
        self.dirs = [FakeDir(self.mktemp(), name) for name in ("d", "e")]
        for each in self.dirs:
            os.makedirs(each.path)
        self.lives: dict[str, str] = {}
        self.closed: set[str] = set()
        self.number = self.distrusted = 0

    def process(self, anew: bool = False) -> ProcessLife:
        """Start a process."""
        dirs: Any = self.dirs
        return ProcessLife(dirs, workers, self.distrust, self.new_life, anew)

    def new_life(self) -> str:
        """Return the number of a life."""
        self.number += 1
        return f"life {self.number}"

    def distrust(self) -> None:
        """Count that the logs are not trusted."""
        self.distrusted += 1

    def registers(self, life: ProcessLife) -> bool:
        """Register a process; return True if its logs continue the last life."""
        continues: bool = self.successResultOf(life.begin(dict(self.lives), set(self.closed)))
        self.lives |= life.lives
        self.closed -= life.lives.keys()
        return continues

    def stops(self, life: ProcessLife) -> None:
        """Stop a process in order."""
        self.successResultOf(life.end())
        self.lives |= life.ended
        self.closed |= life.ended.keys()

    def copied(self) -> list[FakeDir]:
        """Return copies of the log dirs."""
        copies = [FakeDir(self.mktemp(), each.directory_id) for each in self.dirs]
        for one, copy in zip(self.dirs, copies, strict=True):
            shutil.copytree(one.path, copy.path)
        return copies

    def test_lives(self) -> None:
        """Processes that follow each other continue, killed or not, and each has its own life."""
        for stops in (False, True, False):
            life = self.process()
            self.assertTrue(self.registers(life))
            self.assertEqual(set(life.lives), {"d", "e"})
            self.assertTrue(self.registers(life))
            if stops:
                self.stops(life)
        self.assertEqual(self.distrusted, 0)
        self.assertEqual(len(read_life(self.dirs[0].path).lives), 4)  # type: ignore[union-attr]

    def test_recorded_before(self) -> None:
        """A process that dies between its record and its registration harms nothing."""
        self.registers(self.process())
        self.successResultOf(self.process().begin(dict(self.lives), set()))
        self.assertTrue(self.registers(self.process()))

    def test_copy(self) -> None:
        """A copy of open logs is not trusted, and the log says so; then the copy is the broker."""
        self.registers(self.process())
        original, self.dirs = self.dirs, self.copied()
        with capturedLogs() as events:
            self.assertFalse(self.registers(self.process()))
        (event,) = events
        self.assertEqual(event["paths"], ",".join(each.path for each in self.dirs))
        self.assertTrue(self.registers(self.process()))
        self.dirs = original
        self.assertFalse(self.registers(self.process()))
        self.assertEqual(self.distrusted, 2)

    def test_anew(self) -> None:
        """A copy is taken as the original if a person says so; then it is that."""
        self.registers(self.process())
        self.dirs = self.copied()
        self.assertTrue(self.registers(self.process(anew=True)))
        self.assertTrue(self.registers(self.process()))
        self.assertEqual(self.distrusted, 0)

    def test_moved(self) -> None:
        """A copy of closed logs is as good as they were; the original is not after that."""
        life = self.process()
        self.registers(life)
        self.stops(life)
        original, self.dirs = self.dirs, self.copied()
        self.assertTrue(self.registers(self.process()))
        self.dirs = original
        self.assertFalse(self.registers(self.process()))

    def test_dir_is_offline(self) -> None:
        """A log dir that fails keeps the life that it has had, and continues it later."""
        self.registers(self.process())
        self.dirs[1].error = OSError()
        life = self.process()
        self.assertTrue(self.registers(life))
        self.assertEqual(set(life.lives), {"d"})
        self.assertEqual(life.process().locks, {self.dirs[0].path: "1:2"})
        self.dirs[1].error = None
        self.assertTrue(self.registers(self.process()))

    def test_not_written(self) -> None:
        """A life that cannot be recorded in a log dir is not told of it."""
        shutil.rmtree(self.dirs[1].path)
        with capturedLogs() as events:
            life = self.process()
            self.registers(life)
            self.assertTrue(self.registers(life))
        self.assertEqual((len(events), set(life.lives)), (2, {"d"}))

    def test_emptied(self) -> None:
        """Empty log dirs continue nothing, unless another one has its logs."""
        self.registers(self.process())
        for each, continues in zip(self.dirs, (True, False), strict=True):
            os.unlink(os.path.join(each.path, NAME))
            each.emptied = True
            self.assertEqual(self.successResultOf(self.process().begin(self.lives, set())), continues)

    def test_never_registered(self) -> None:
        """A process that was not registered records no end."""
        life = self.process()
        self.stops(life)
        self.assertEqual((life.lives, life.ended, os.listdir(self.dirs[0].path)), ({}, {}, []))
