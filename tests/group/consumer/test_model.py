"""Random joins, heartbeats, silence, failed writes and restarts: no partition has two owners.

Members are modelled as clients: they own the partitions of their last assignment, and those to revoke until
they have revoked them. The invariants are checked on what clients own, not on the group's own records.
"""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.consumer.records import Kind
from kafkatx.group.consumer.state import GroupState
from tests.group.consumer.driver import (
    REBALANCE_MS,
    SESSION_MS,
    Flat,
    MixedTestCase,
    cluster,
    topic,
)

NAMES = ("t", "u", "v")


@attrs.define
class Member:
    """A client: its owned partitions, its assignment, and whether it missed an answer.

    After a missed answer it sends a full request, and gets its full assignment.
    """

    name: str
    epoch: int
    topics: tuple[str, ...]
    owns: Flat
    told: Flat
    classic: bool = False
    needs_sync: bool = False
    missed: bool = False


class _Driver(MixedTestCase):
    def runTest(self) -> None:
        """Do nothing: the state machine calls what it needs."""


class GroupMachine(RuleBasedStateMachine):
    """A group with members of both protocols."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = _Driver()
        self.driver.setUp()
        # the group stays a consumer group when only classic members are left
        self.driver.settings = attrs.evolve(self.driver.settings, migration_policy="upgrade")
        self.driver.cluster = cluster(topic("t", 5), topic("u", 3))
        self.members: dict[str, Member] = {}
        self.count = 0
        self.epochs: dict[str, int] = {}
        self.sizes = {"t": 5, "u": 3}

    # --- members' actions

    def told(self, member: Member, response: Any) -> None:
        """Apply a response to a member of KIP-848."""
        if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            del self.members[member.name]
            return
        if response.error_code:
            assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE, response
            return
        assert response.member_epoch >= member.epoch, "epochs never go back"
        member.epoch = response.member_epoch
        if response.assignment is not None:
            member.told = self.driver.assigned(response)
            member.owns |= member.told  # partitions that are no longer told stay owned until give_up

    @precondition(lambda self: len(self.members) < 6)
    @rule(topics=st.sets(st.sampled_from(NAMES), min_size=1), assignor=st.sampled_from([None, "range"]))
    def join(self, topics: set[str], assignor: str | None) -> None:
        """Add a new member."""
        self.count += 1
        wanted = tuple(sorted(topics))
        member = Member(f"m{self.count}", 0, wanted, set(), set())
        self.members[member.name] = member
        self.told(member, self.driver.join(member.name, list(wanted), server_assignor=assignor))
        if member.epoch == 0:
            self.members.pop(member.name, None)

    @precondition(lambda self: any(not m.classic for m in self.members.values()) and len(self.members) < 6)
    @rule(topics=st.sets(st.sampled_from(NAMES), min_size=1))
    def join_classic(self, topics: set[str]) -> None:
        """Add a new member of the classic protocol, eager: it owns nothing when it joins."""
        self.count += 1
        member = Member(f"c{self.count}", 0, tuple(sorted(topics)), set(), set(), True)
        response = self.driver.classic_join(member.name, member.topics)
        if not response.error_code:
            member.epoch, member.needs_sync = response.generation_id, True
            self.members[member.name] = member

    def send(self, member: Member, tells: bool = True) -> None:
        """Send a member's heartbeat, with or without its owned partitions."""
        if member.missed:
            response = self.driver.send(
                member.name,
                member.epoch,
                list(member.topics),
                member.owns,
                rebalance_timeout_ms=REBALANCE_MS,
            )
            member.missed = bool(response.error_code)
        else:
            owned = member.owns if tells else None
            response = self.driver.send(member.name, member.epoch, owned=owned)
        self.told(member, response)

    def some(self, number: int, classic: bool) -> Member | None:
        """Return one of the members."""
        found = [member for member in self.members.values() if member.classic == classic]
        return found[number % len(found)] if found else None

    @rule(number=st.integers(0, 9), tells=st.booleans())
    def heartbeat(self, number: int, tells: bool) -> None:
        """Send a member's heartbeat, with or without its owned partitions."""
        member = self.some(number, classic=False)
        if member is not None:
            self.send(member, tells)

    @rule(number=st.integers(0, 9))
    def give_up(self, number: int) -> None:
        """Give up partitions that a member is no longer told to own."""
        member = self.some(number, classic=False)
        if member is not None:
            member.owns &= member.told

    @rule(number=st.integers(0, 9), topics=st.sets(st.sampled_from(NAMES), min_size=1))
    def subscribe(self, number: int, topics: set[str]) -> None:
        """Change a member's subscription."""
        member = self.some(number, classic=False)
        if member is not None:
            member.topics, member.missed = tuple(sorted(topics)), True
            self.send(member)

    @rule(number=st.integers(0, 9))
    def lose_answer(self, number: int) -> None:
        """Serve a member's heartbeat, and lose the answer."""
        member = self.some(number, classic=False)
        if member is not None:
            self.driver.send(member.name, member.epoch)
            member.missed = True

    @rule(number=st.integers(0, 9))
    def leave(self, number: int) -> None:
        """Remove a member."""
        member = self.some(number, classic=False)
        if member is not None and self.driver.send(member.name, -1).error_code == 0:
            self.members.pop(member.name, None)

    @rule(number=st.integers(0, 9))
    def classic_step(self, number: int) -> None:
        """Take a classic member's next step: sync, or send a heartbeat and join again if it must."""
        member = self.some(number, classic=True)
        if member is not None:
            self.step(member)

    def step(self, member: Member) -> None:
        """Send a classic member's next request."""
        if member.needs_sync:
            response = self.driver.sync(member.name, member.epoch)
            code = response.error_code
            if not code:
                member.needs_sync, member.owns = False, self.driver.read(response.assignment)
        else:
            code = self.driver.beat(member.name, member.epoch)
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            member.owns = set()  # eager
            response = self.driver.classic_join(member.name, member.topics)
            code = response.error_code
            if not code:
                member.epoch, member.needs_sync = response.generation_id, True
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            del self.members[member.name]
        else:
            assert code in (0, ErrorCode.COORDINATOR_NOT_AVAILABLE), code

    # --- other events

    @rule(name=st.sampled_from(NAMES), more=st.integers(1, 3))
    def grow(self, name: str, more: int) -> None:
        """Create a topic, or add partitions to it."""
        self.sizes[name] = min(self.sizes.get(name, 0) + more, 9)
        self.driver.cluster = cluster(*(topic(one, size) for one, size in self.sizes.items()))

    @rule(seconds=st.integers(1, 50))
    def silence(self, seconds: int) -> None:
        """Advance the time; members that are removed stop, since their own sessions have ended, too."""
        self.driver.pass_time(seconds * 1000)
        for member in [m for m in self.members.values() if m.name not in self.known()]:
            del self.members[member.name]

    @rule(fails=st.booleans())
    def disk(self, fails: bool) -> None:
        """Make writes fail, or succeed again."""
        self.driver.store_error = ErrorCode.COORDINATOR_NOT_AVAILABLE if fails else ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        """Restart from the log alone, as another broker does."""
        before = self.driver.group.consumer_describe()
        self.driver.restart()
        assert self.driver.group.consumer_describe() == before

    def known(self) -> set[str]:
        """Return the member ids of the group."""
        return {member.member_id for member in self.driver.group.consumer_describe().members}

    # --- invariants

    @invariant()
    def sizes_are_those_of_what_is_there(self) -> None:
        """Check that the counted size of members equals that of a new state with the same contents."""
        state, again = self.driver.group._rebalance.state, GroupState()
        for kind, pieces in ((Kind.MEMBER, state.members), (Kind.REGEX, state.regexes)):
            for name, value in pieces.items():
                again.put(kind, name, value)
        assert state.held_bytes == again.held_bytes

    @invariant()
    def one_owner(self) -> None:
        """Check that no partition is owned by two clients."""
        owners: dict[tuple[str, int], str] = {}
        for member in self.members.values():
            for partition in member.owns:
                assert partition not in owners, (partition, owners[partition], member.name)
                owners[partition] = member.name

    @invariant()
    def records_agree(self) -> None:
        """Check that there are as many records as members."""
        kinds, count = self.driver.kinds(), len(self.known())
        for kind in (Kind.MEMBER, Kind.TARGET, Kind.CURRENT):
            assert kinds.get(kind, 0) == count, (kinds, count)

    @invariant()
    def no_deadlines_left(self) -> None:
        """Check that only present members have deadlines."""
        waiting = {member for _, member in self.driver.group._rebalance.deadlines._due}
        assert waiting <= self.known(), waiting - self.known()

    def teardown(self) -> None:
        """Check that without further events all members soon reach their targets, and all is assigned.

        Members whose leave or join was not answered are removed when their sessions end.
        """
        self.driver.store_error = ErrorCode.NONE
        for _ in range((SESSION_MS + REBALANCE_MS) // 4000 + 2):
            self.driver.pass_time(4000)
            for member in list(self.members.values()):
                if member.classic:
                    self.step(member)
                else:
                    member.owns &= member.told
                    self.send(member)
            self.one_owner()
        described = self.driver.group.consumer_describe()
        assert described.group_state in ("Stable", "Empty"), described
        assert self.known() == set(self.members)
        owned = {partition for member in self.members.values() for partition in member.owns}
        wanted = {
            (name, number)
            for member in described.members
            for name in member.subscribed_topic_names
            for number in range(self.sizes.get(name, 0))
        }
        assert owned == wanted, owned ^ wanted


class ModelTests(SynchronousTestCase):
    def test_model(self) -> None:
        """The invariants hold in every random run, and the group comes to rest."""
        run_state_machine_as_test(
            GroupMachine,
            settings=settings(
                max_examples=60,
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
