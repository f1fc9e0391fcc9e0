"""Topics that are rebuilt from directories: what is planned for which findings."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import decode_partition_metadata, encode_partition_metadata, encode_stray
from kafkatx.log.files import Files
from kafkatx.log.store.adoption import KEPT, MOST_PARTITIONS, Known, Plan, carry_out, look, plan
from kafkatx.types import LogDirRecord, PartitionState, Placement, Topic

A, B, C = (uuid.UUID(int=number) for number in (1, 2, 3))
LED = PartitionState(7, 0, (7,), (7,))
HEX = "0123456789abcdef" * 2


class PlanTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two log dirs."""
        self.dirs = [os.path.abspath(self.mktemp()) for _ in range(2)]
        for number, path in enumerate(self.dirs):
            os.mkdir(path)
            self.write(path, "meta.properties", f"cluster.id=c\ndirectory.id=d{number}\nbroker.id=7\n")

    def write(self, *parts: str) -> None:
        """Write a file: the last of *parts* into the others."""
        *path, text = parts
        with open(os.path.join(*path), "w") as file:
            file.write(text)

    def put(self, name: str, topic_id: uuid.UUID | None = A, number: int = 0, was: str | None = None) -> None:
        """Make a directory in one of the log dirs."""
        path = os.path.join(self.dirs[number], name)
        os.mkdir(path)
        if topic_id is not None:
            self.write(path, "partition.metadata", encode_partition_metadata(topic_id).decode())
        if was is not None:
            self.write(path, "stray.metadata", encode_stray(was, "of a test").decode())

    def plan(
        self, known: Known | None = None, strays: Collection[str] | None = (), empty: bool = False
    ) -> Plan:
        """The plan."""
        files = Files()
        return plan([look(files, path) for path in self.dirs], known, 7, strays, empty, lambda: C)

    def known(self, topic: Topic, placed: dict[int, str] | None = None, **more: Any) -> Known:
        """A state with one topic."""
        return Known("c", {topic.name: topic}, LogDirRecord({}, {topic.topic_id: placed or {}}), **more)

    def only_problem(self, made: Plan) -> str:
        """The one problem; nothing is planned beside it."""
        (problem,) = made.problems
        self.assertEqual((made.topics, made.grown, made.placed, made.take), ([], [], [], []))
        return problem

    def test_lost_state(self) -> None:
        """Each topic gets its id, as many partitions as its highest number says, and keeps all records."""
        self.put("t-0")
        self.put("t-2", number=1)
        self.put("u-0", B)
        made = self.plan()
        self.assertEqual(made.topics, [Topic("t", A, (LED,) * 3, KEPT), Topic("u", B, (LED,), KEPT)])
        self.assertEqual(
            sorted(made.placed),
            [Placement(A, 0, "d0"), Placement(A, 1, ""), Placement(A, 2, "d1"), Placement(B, 0, "d0")],
        )
        self.assertIn("t: t-1 is missing, and offline unless --empty is given", made.notes)
        self.assertEqual((made.take, made.problems), ([], []))

    def test_empty(self) -> None:
        """With --empty, what is missing counts as never made."""
        self.put("t-1")
        made = self.plan(empty=True)
        self.assertEqual(made.placed, [Placement(A, 1, "d0")])
        self.assertIn("t: starts 1 partition anew, empty: t-0", made.lines)
        known = self.known(Topic("t", A, (LED, LED)), {0: "d0", 1: "d0"})
        self.assertEqual(self.plan(known, empty=True).placed, [Placement(A, 0, None)])

    def test_internal(self) -> None:
        """The offsets topic is compacted, and internal, as it was."""
        self.put("__consumer_offsets-49")
        (topic,) = self.plan(empty=True).topics
        self.assertEqual((topic.internal, topic.configs["cleanup.policy"]), (True, "compact"))
        self.assertNotIn("retention.ms", topic.configs)

    def test_without_ids(self) -> None:
        """Directories from before there were topic ids, and damaged metadata, get one."""
        self.put("t-0", None)
        self.put("t-1", None)
        self.write(self.dirs[0], "t-1", "partition.metadata", "garbage")
        made = self.plan()
        self.assertEqual([topic.topic_id for topic in made.topics], [C])
        self.assertEqual([topic_id for _, topic_id in made.take], [C, C])

    def test_conflicting_ids(self) -> None:
        """The id of most partitions is taken; the others are reported and overwritten."""
        for number, topic_id in enumerate((A, B, A)):
            self.put(f"t-{number}", topic_id)
        made = self.plan()
        self.assertEqual([topic.topic_id for topic in made.topics], [A])
        self.assertIn(f"t-1, which has topic id {B}, and writes {A} to it", "\n".join(made.lines))
        carry_out(Files(), made.take)
        with open(os.path.join(self.dirs[0], "t-1", "partition.metadata"), "rb") as file:
            self.assertEqual(decode_partition_metadata(file.read()), A)

    def test_known(self) -> None:
        """Topics of the state are not changed; missing ones are added."""
        self.put("t-0")
        self.put("t-3")
        topic = Topic("t", A, (LED, LED), {"retention.ms": "5"})
        made = self.plan(self.known(topic, {0: "d0", 1: "d1"}))
        self.assertEqual(made.topics, [])
        ((grown, count),) = made.grown
        self.assertEqual((grown.configs, len(grown.partitions), count), (topic.configs, 4, 2))
        self.assertEqual(sorted(made.placed), [Placement(A, 2, ""), Placement(A, 3, "d0")])

    def test_never_made(self) -> None:
        """A partition of the state that is not on record is not missing."""
        self.put("t-0")
        made = self.plan(self.known(Topic("t", A, (LED, LED)), {0: "d0"}))
        self.assertEqual((made.lines, made.placed, made.notes), ([], [], []))

    def test_known_with_other_id(self) -> None:
        """The state's id is written to a directory that has another."""
        self.put("t-0", B)
        made = self.plan(self.known(Topic("t", A, (LED,)), {0: "d0"}))
        self.assertEqual([topic_id for _, topic_id in made.take], [A])

    def test_older_state(self) -> None:
        """A topic that was made again since an older copy of the state keeps its records: configs are new."""
        self.put("t-0", B)
        made = self.plan(self.known(Topic("t", A, (LED,), {"retention.ms": "5"}), {0: "d0"}, is_older=True))
        self.assertEqual(made.topics, [Topic("t", B, (LED,), KEPT)])

    def test_twice(self) -> None:
        """A partition in two directories is a problem, and nothing is done."""
        self.put("t-0")
        self.put("t-0", number=1)
        self.assertIn("move all but one of them away", self.only_problem(self.plan()))

    def test_other_clusters(self) -> None:
        """Log dirs of two clusters, or of another one than the state, are a problem."""
        self.put("t-0")
        made = self.plan(Known("other", {}, LogDirRecord()))
        self.assertIn("move the state's file away", self.only_problem(made))
        self.write(self.dirs[1], "meta.properties", "cluster.id=x\n")
        self.assertIn("several clusters", self.only_problem(self.plan()))

    def test_incredible_number(self) -> None:
        """A directory with a number beyond all bounds makes no topic."""
        self.put(f"t-{MOST_PARTITIONS}")
        self.assertIn("no topic has so many partitions", self.only_problem(self.plan()))

    # --- what was put aside

    def test_strays(self) -> None:
        """Directories that were put aside are left there, and named, unless they are chosen."""
        stray = f"t-0.{HEX}-stray"
        self.put(stray)
        self.put("t-1")
        made = self.plan(empty=True)
        self.assertEqual(made.take, [])
        self.assertIn(f"--stray {stray}", "".join(made.notes))
        for strays in (None, [stray]):
            made = self.plan(strays=strays)
            self.assertEqual([candidate.name for candidate, _ in made.take], [stray])
            self.assertEqual(sorted(made.placed), [Placement(A, 0, "d0"), Placement(A, 1, "d0")])
        carry_out(Files(), made.take)
        self.assertIn("t-0", os.listdir(self.dirs[0]))

    def test_doomed(self) -> None:
        """A directory on its way to be removed is taken only by its name."""
        doomed = f"t-0.{HEX}-delete"
        self.put(doomed)
        self.assertEqual(self.plan(strays=None).topics, [])
        self.assertEqual([one.name for one, _ in self.plan(strays=[doomed]).take], [doomed])

    def test_stray_in_the_way(self) -> None:
        """A stray whose partition has a directory, or another stray, is a problem."""
        self.put("t-0")
        self.put(f"t-0.{HEX}-stray")
        self.assertIn("move all but one", self.only_problem(self.plan(strays=None)))
        self.assertIn("no such directory", self.only_problem(self.plan(strays=["nothing"])))

    def test_long_names(self) -> None:
        """A name that was cut is told by the file in it; without that it is a problem to take it."""
        topic = "x" * 249
        cut = f"{topic[:216]}.{HEX}-stray"
        self.assertEqual(len(cut), 255)
        self.put(cut, was=f"{topic}-0")
        self.assertEqual([one.name for one in self.plan(strays=None).topics], [topic])
        carry_out(Files(), self.plan(strays=None).take)
        self.assertEqual(os.listdir(os.path.join(self.dirs[0], f"{topic}-0")), ["partition.metadata"])
        self.put(cut)
        self.assertIn("rename it to TOPIC-NUMBER", self.only_problem(self.plan(strays=None)))
        self.assertEqual(self.plan().problems, [])

    def test_other_directories(self) -> None:
        """Directories with other names are ignored."""
        for name in ("lost+found", "notes", "a-01", "..-0", "__cluster_metadata-0", f"x.{HEX}-future"):
            self.put(name, None)
        self.assertEqual((self.plan().topics, self.plan().lines), ([], []))
