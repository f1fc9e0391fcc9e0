"""Tests of kafkatx.blocking.admin.reset."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.reset import Kind, Move, Target, carry_out, plan
from kafkatx.clientcore.admin.groups import GroupInUse, UnknownGroup
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fakes import Log

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
EARLIEST = Target(Kind.EARLIEST)
EVERYWHERE: Mapping[str, Collection[int]] = MappingProxyType({})


class PlanTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A group without members that has read two of three partitions."""
        self.group = FakeGroup(offsets={T0: 5, U0: 7})
        topics = {"t": [Log(start=2, end=10), Log(end=20)], "u": [Log(start=1, end=9)]}
        self.fake = FakeGroups(topics, groups={"g": self.group})
        self.cluster = self.fake.client(retries=3)

    def new(self, target: Target, scope: Mapping[str, Collection[int]] = EVERYWHERE) -> dict[object, int]:
        """The new offsets."""
        return {move.at: move.new for move in plan(self.cluster, "g", target, scope)}

    def test_targets(self) -> None:
        """Each kind of target, in all partitions that the group has offsets in."""
        for target, expected in (
            (EARLIEST, {T0: 2, U0: 1}),
            (Target(Kind.LATEST), {T0: 10, U0: 9}),
            (Target(Kind.OFFSET, 3), {T0: 3, U0: 3}),
            (Target(Kind.SHIFT, 2), {T0: 7, U0: 9}),
            (Target(Kind.SHIFT, -2), {T0: 3, U0: 5}),
        ):
            self.assertEqual(self.new(target), expected, target)

    def test_time(self) -> None:
        """A time is looked up; the fake answers offset 1, which partition 0 no longer has."""
        self.assertEqual(self.new(Target(Kind.TIME, 1234)), {T0: 2, U0: 1})
        asked = self.fake.sent(ListOffsetsRequest)[-1].topics[0].partitions[0].timestamp
        self.assertEqual(asked, 1234)

    def test_time_before_the_epoch(self) -> None:
        """A negative time does not become one of the numbers that mean the end or the start."""
        self.new(Target(Kind.TIME, -1))
        self.assertEqual(self.fake.sent(ListOffsetsRequest)[-1].topics[0].partitions[0].timestamp, 0)

    def test_time_after_the_last_record(self) -> None:
        """A time that no record has come since is the end."""
        answer = FakeGroups.answer_list_offsets

        def without(fake: FakeGroups, *arguments: Any) -> Any:
            response = answer(fake, *arguments)
            for partition in [p for topic in response.topics for p in topic.partitions]:
                if partition.timestamp == 11:
                    partition.offset = partition.timestamp = -1
            return response

        self.patch(FakeGroups, "answer_list_offsets", without)
        self.assertEqual(self.new(Target(Kind.TIME, 1234)), {T0: 10, U0: 9})

    def test_within_the_log(self) -> None:
        """Offsets outside of the log become its start or end, and the target is still known."""
        moves = plan(self.cluster, "g", Target(Kind.OFFSET, 9), {"t": [0], "u": []})
        self.assertEqual(moves, [Move(T0, 5, 9, 9, 10), Move(U0, 7, 9, 9, 9)])
        moves = plan(self.cluster, "g", Target(Kind.OFFSET, 100), {"u": []})
        self.assertEqual(moves, [Move(U0, 7, 9, 100, 9)])
        moves = plan(self.cluster, "g", Target(Kind.SHIFT, -100), {"t": [0]})
        self.assertEqual(moves, [Move(T0, 5, 2, -95, 10)])
        self.assertEqual(moves[0].lag, 8)

    def test_scope(self) -> None:
        """Topics and partitions that are named, also such as the group has no offsets in."""
        self.assertEqual(self.new(EARLIEST, {"t": []}), {T0: 2, T1: 0})
        self.assertEqual(self.new(EARLIEST, {"t": {1}, "u": {0}}), {T1: 0, U0: 1})
        self.assertIsNone(plan(self.cluster, "g", EARLIEST, {"t": {1}})[0].old)

    def test_new_group(self) -> None:
        """A group that is not there yet can be given offsets, if topics are named."""
        self.assertEqual(plan(self.cluster, "new", EARLIEST, {"u": []}), [Move(U0, None, 1, 1, 9)])
        self.assertRaises(UnknownGroup, plan, self.cluster, "new", EARLIEST, {})

    def test_nothing_to_shift(self) -> None:
        """Without a committed offset there is nothing to shift."""
        error = self.assertRaises(RequestError, self.new, Target(Kind.SHIFT, 1), {"t": []})
        self.assertIn("t [1] has no committed offset to be shifted", str(error))

    def test_members(self) -> None:
        """A group with members is refused, of either type."""
        self.group.members.append(FakeMember("m"))
        for self.group.type in ("classic", "consumer"):
            error = self.assertRaises(GroupInUse, self.new, EARLIEST)
        self.assertEqual(str(error), "group 'g' has members: stop its consumers, then set its offsets")

    def test_missing(self) -> None:
        """A topic or partition that is not there is named at once, with what can be done."""
        self.assertRaises(UnknownTopic, self.new, EARLIEST, {"nope": []})
        error = self.assertRaises(RequestError, self.new, EARLIEST, {"t": [0, 2]})
        self.assertEqual(error.code, ErrorCode.INVALID_PARTITIONS)
        self.assertIn("it has 0 to 1", str(error))
        del self.fake.topics["u"]
        error = self.assertRaises(UnknownTopic, self.fresh_plan)
        self.assertIn("name the other topics with --topic", str(error))
        self.assertEqual(self.fake.slept, [])

    def fresh_plan(self) -> None:
        """A plan by a client that remembers no topics."""
        plan(self.fake.client(retries=3), "g", EARLIEST, {})

    def test_nothing_is_changed(self) -> None:
        """A plan commits nothing; carrying it out commits just that."""
        moves = plan(self.cluster, "g", EARLIEST, {"t": []})
        self.assertEqual(self.fake.sent(OffsetCommitRequest), [])
        carry_out(self.cluster, "g", moves)
        self.assertEqual(self.group.offsets, {T0: 2, T1: 0, U0: 7})

    def test_member_came_meanwhile(self) -> None:
        """A group that has got members since the plan was made keeps its offsets."""
        moves = plan(self.cluster, "g", EARLIEST, {})
        self.group.members.append(FakeMember("m"))
        self.assertRaises(GroupInUse, carry_out, self.cluster, "g", moves)
        self.assertEqual(self.group.offsets, {T0: 5, U0: 7})
