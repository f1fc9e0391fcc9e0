"""Rounds over groups: what is asked for, and what is remembered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.control.group_plan import GroupHere, GroupOffsets, mark_of
from kafkatx.broker.mirror.control.groups_round import LOOK_AGAIN_S, GroupsRound
from kafkatx.clientcore.admin.groups import GroupInUse
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.config.links import LinkSettings
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

LINK = LinkSettings("dc1", ("k:1",), ".*", ".*", None, "", "", {})
T0 = TopicPartition("t", 0)
MARK = mark_of("dc1")


class FakeSides:
    """Source and target in one: the methods that the rounds call."""

    def __init__(self) -> None:
        self.there: dict[str, GroupOffsets] = {}
        self.here: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        self.joined: set[str] = set()
        self.looked: list[list[str]] = []
        self.commits: list[Mapping[str, GroupOffsets]] = []
        self.errors: dict[str, KafkaTXError] = {}
        self.before_commit: Any = lambda: None

    async def source_groups(self, is_wanted: Any) -> dict[int, list[str]]:
        """List the groups of the source."""
        return {1: [one for one in self.there if is_wanted(one)], 2: []}

    async def source_offsets(self, node_id: int, groups: Collection[str], topics: Any) -> dict[str, Any]:
        """Return offsets of the source."""
        return {one: self.there[one] for one in groups}

    async def groups(self) -> dict[str, bool]:
        """List the groups here."""
        return {one: one in self.joined for one in {*self.here, *self.joined}}

    async def offsets_of(self, groups: Collection[str], known: Any, topics: Any) -> dict[str, GroupHere]:
        """Return groups here."""
        self.looked.append(sorted(groups))
        return {one: GroupHere(known[one], dict(self.here.get(one, {}))) for one in groups if one in known}

    async def commit(self, offsets: Mapping[str, GroupOffsets]) -> dict[str, KafkaTXError | None]:
        """Commit."""
        self.before_commit()
        self.commits.append(offsets)
        for group, some in offsets.items():
            if group not in self.errors:
                self.here.setdefault(group, {}).update(some)
        return {group: self.errors.get(group) for group in offsets}


class _Source:
    def __init__(self, sides: FakeSides) -> None:
        self.groups, self.offsets = sides.source_groups, sides.source_offsets


class GroupsRoundTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make both sides, with one group at the source."""
        self.clock = Clock()
        self.sides = FakeSides()
        self.sides.there["g"] = {T0: OffsetAndMetadata(5)}
        self.topics = {"t": 1}
        self.lock = DeferredLock()
        self.rounds = self.make()

    def make(self) -> GroupsRound:
        """Return the rounds of a new controller."""
        source: Any = _Source(self.sides)
        target: Any = self.sides
        return GroupsRound(source, target, lambda: self.topics, self.lock, self.clock)

    def round(self) -> tuple[int, int]:
        """Make a round; return the groups that are copied and skipped."""
        self.successResultOf(Deferred.fromCoroutine(self.rounds.run(LINK)))
        return self.rounds.counts.copied, self.rounds.counts.skipped

    def test_looks_only_where_needed(self) -> None:
        """A group without news is looked at again only after a while; then what has expired is written."""
        self.assertEqual(self.round(), (1, 0))
        self.assertEqual(self.round(), (1, 0))
        self.assertEqual(self.sides.looked, [["g"], []])
        self.sides.here.clear()
        self.clock.advance(LOOK_AGAIN_S)
        self.round()
        self.assertEqual(self.sides.here["g"], {T0: OffsetAndMetadata(5, MARK)})

    def test_used_meanwhile(self) -> None:
        """A group that another client has committed for is left alone from its next change on."""
        self.round()
        self.sides.here["g"] = {T0: OffsetAndMetadata(1)}
        self.sides.there["g"] = {T0: OffsetAndMetadata(6)}
        self.assertEqual(self.round(), (0, 1))
        self.assertEqual(self.sides.here["g"], {T0: OffsetAndMetadata(1)})

    def test_joined(self) -> None:
        """A group with members is left alone without a look; one that gets them meanwhile, too."""
        self.sides.joined.add("g")
        self.assertEqual(self.round(), (0, 1))
        self.assertEqual(self.sides.looked, [[]])
        self.sides.joined.clear()
        self.sides.errors["g"] = GroupInUse("g", "wait")
        self.assertEqual(self.round(), (0, 1))
        self.assertEqual(self.rounds.counts.error, "")

    def test_lost_reply(self) -> None:
        """After a commit of unknown outcome the mark tells whose the offset is."""
        self.sides.errors["g"] = ConnectionFailed("lost")
        self.round()
        self.assertEqual(self.rounds.counts.error, "lost")
        self.assertIsNone(self.rounds.counts.completed_s)
        self.sides.errors.clear()
        self.sides.here["g"] = {T0: OffsetAndMetadata(4, MARK)}
        self.assertEqual(self.round(), (1, 0))
        self.assertEqual(self.sides.here["g"], {T0: OffsetAndMetadata(5, MARK)})
        self.assertEqual(self.rounds.counts.completed_s, self.clock.seconds())

    def test_promoted_meanwhile(self) -> None:
        """Offsets that wait for the end of a promotion are not committed for the promoted topic."""
        self.successResultOf(self.lock.acquire())
        running = Deferred.fromCoroutine(self.rounds.run(LINK))
        self.topics = {}
        self.lock.release()
        self.successResultOf(running)
        self.assertEqual(self.sides.commits, [{}])

    def test_no_topics(self) -> None:
        """Without mirrored topics nothing is asked."""
        self.topics = {}
        self.assertEqual(self.round(), (0, 0))
        self.assertEqual(self.sides.looked, [])

    def test_gone(self) -> None:
        """Groups that the source has no more are forgotten, and stay here."""
        self.round()
        self.sides.there.clear()
        self.assertEqual(self.round(), (0, 0))
        self.assertEqual((self.rounds._written, self.rounds._looked_s), ({}, {}))
        self.assertIn("g", self.sides.here)
