"""Groups and offsets after a restart: stored state is restored, and members continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.runtime.runtime import Replay
from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Record
from kafkatx.group.classic import records
from kafkatx.group.offset_records import Committed, encode_key, encode_value
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from tests.broker.coordinated import groups_of, offsets_of, partition_of, reload
from tests.broker.files import FileBrokerTestCase
from tests.broker.members import DELAY_S, SESSION_MS, MembersTestCase
from tests.broker.running import Held


class RestartTests(FileBrokerTestCase, MembersTestCase):
    settings: ClassVar[Mapping[str, str]] = MembersTestCase.settings

    def describe(self, group: str = "g") -> Any:
        """Return the description of the group."""
        return self.ask(15, 5, DescribeGroupsRequest([group])).groups[0]

    def commit(self, group: str) -> None:
        """Commit an offset."""
        record = Record(encode_key(group, "t", 0), encode_value(Committed(7)))
        self.broker.groups.writer.append(partition_of(self.broker, group), [record])

    def test_members_go_on(self) -> None:
        """A stable group is restored after kill -9, and its members need not join again."""
        leader, follower = self.settle(2)
        self.make_topic("t")
        self.commit("g")
        before = self.describe()
        self.restart()
        self.assertEqual(self.describe(), before)
        for member in (leader, follower):
            self.assertEqual(self.beat(member, 1), ErrorCode.NONE)
            self.assertEqual(self.successResultOf(self.sync(member, 1)).assignment, member.encode())

    def test_sessions_begin_anew(self) -> None:
        """Members have a whole session to come back; then they are removed."""
        (member,) = self.settle()
        self.clock.advance(SESSION_MS / 1000 - 1)
        self.restart()
        self.clock.advance(SESSION_MS / 1000 - 1)
        self.assertEqual(len(self.describe().members), 1)
        self.clock.advance(1)
        self.assertEqual(
            (self.describe().group_state, self.beat(member, 1)), ("Empty", ErrorCode.UNKNOWN_MEMBER_ID)
        )

    def test_generations_go_on(self) -> None:
        """A group that lost its last member before the restart does not begin at generation 1 again."""
        (member,) = self.settle()
        self.leave(member)
        self.restart()
        self.assertEqual(self.describe().group_state, "Empty")
        joining = self.join()
        self.clock.advance(DELAY_S)
        self.assertEqual(self.successResultOf(joining).generation_id, 3)

    def test_not_stored(self) -> None:
        """A member that was not in a stable group is unknown after a restart."""
        joining = self.join()
        self.clock.advance(DELAY_S)
        member = self.successResultOf(joining).member_id
        self.restart()
        self.assertEqual(self.beat(member, 1), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(groups_of(self.broker), {})

    def test_deleted(self) -> None:
        """A deleted group does not come back."""
        (member,) = self.settle()
        self.leave(member)
        group = groups_of(self.broker)["g"]
        self.assertEqual(self.successResultOf(self.deleted(group)), ErrorCode.NONE)
        self.restart()
        self.assertEqual(groups_of(self.broker), {})

    def deleted(self, group: Any) -> Any:
        """Delete a group."""
        return Deferred.fromCoroutine(self.broker.groups.delete(group))

    def test_offsets_without_group(self) -> None:
        """Offsets of a consumer without a group make an empty group."""
        self.successResultOf(self.broker.groups.topic.ensure())
        self.make_topic("t")
        self.commit("simple")
        self.restart()
        self.assertEqual(offsets_of(self.broker, "simple").get("simple", "t", 0), Committed(7))
        self.assertEqual(self.describe("simple").group_state, "Empty")

    def reload(self) -> Held:
        """Forget everything and load again, with workers that wait."""
        held = Held()
        self.patch(self.broker.groups.runtime, "_worker", lambda: held("offsets"))
        reload(self.broker)
        return held

    def test_loading(self) -> None:
        """A group answers that it is loading until its partition has been read."""
        (member,) = self.settle()
        held = self.reload()
        self.assertTrue(self.broker.groups.runtime.loading)
        self.assertEqual(self.join_code(member_id=member), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        held.work()
        self.assertFalse(self.broker.groups.runtime.loading)
        self.assertEqual(self.beat(member, 1), ErrorCode.NONE)

    def test_stopped_while_loading(self) -> None:
        """A stop ends the loading; later results of the disk are dropped."""
        self.settle()
        held = self.reload()
        self.broker.groups.stop()
        held.work()
        self.assertEqual(groups_of(self.broker), {})


class ReplayTests(MembersTestCase):
    def replay_anew(self) -> Replay:
        """Forget the partition of group ``g``; return what replays it."""
        partition = partition_of(self.broker, "g")
        self.broker.groups.unload(partition.topic_partition.partition)
        return self.broker.groups.replay(partition)

    def test_not_before_it_is_loaded(self) -> None:
        """Groups are found and sessions begin only when their whole partition is loaded."""
        (member,) = self.settle()
        group: Any = groups_of(self.broker)["g"]
        replay = self.replay_anew()
        replay(*group.record())
        self.clock.advance(SESSION_MS / 1000)
        self.assertIsNone(self.broker.groups.find("g"))
        replay.loaded()
        found: Any = self.broker.groups.find("g")
        self.assertEqual((list(found.members), found.generation), ([member], 1))
        self.clock.advance(SESSION_MS / 1000 - 1)
        self.assertEqual(list(found.members), [member])

    def test_lost_by_its_own_load(self) -> None:
        """A partition that is lost while its groups begin is forgotten as a whole."""
        for group in ("a", "d"):
            self.settle(group=group)
        partition, runtime = partition_of(self.broker, "a"), self.broker.groups.runtime
        self.assertIs(partition, partition_of(self.broker, "d"))
        runtime.role_changed(partition, False)
        perform = self.broker.groups.perform

        def performs(*args: Any) -> None:
            perform(*args)
            runtime.role_changed(partition, False)

        self.patch(self.broker.groups, "perform", performs)
        runtime.role_changed(partition, True)
        self.assertEqual(groups_of(self.broker), {})
        self.assertNotIn(partition.topic_partition.partition, runtime.states())
        self.assertEqual(self.broker.groups.memory.used_bytes, 0)

    def test_kinds(self) -> None:
        """A tombstone makes no group, and records of unknown kinds are skipped."""
        self.successResultOf(self.broker.groups.topic.ensure())
        replay = self.replay_anew()
        replay(records.encode_key("g"), None)
        replay(b"\x03\xe7 something", b"else")
        replay(b"\0", b"too short for a version")
        replay.loaded()
        self.assertEqual(groups_of(self.broker), {})
