"""Any order of joins, heartbeats, silence, failed writes and restarts: no partition has two owners.

Members are modelled as clients are: they own what they were last told, and go on owning what they are to
give up until they have. What the test holds the group to is what clients really own, not what it believes.
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
    """A client: what it owns, what it was told to own, and whether it missed an answer.

    After that it sends all that it has to say, and is told all.
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
        """Nothing: the machine calls what it needs."""


class GroupMachine(RuleBasedStateMachine):
    """A group with members of both protocols."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = _Driver()
        self.driver.setUp()
        # so that the group stays what it is when only classic members are left
        self.driver.settings = attrs.evolve(self.driver.settings, migration_policy="upgrade")
        self.driver.cluster = cluster(topic("t", 5), topic("u", 3))
        self.members: dict[str, Member] = {}
        self.count = 0
        self.epochs: dict[str, int] = {}
        self.sizes = {"t": 5, "u": 3}

    # --- what members do

    def told(self, member: Member, response: Any) -> None:
        """A member of KIP-848 takes in a response."""
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
            member.owns |= member.told  # what is no longer told is still owned: see give_up

    @precondition(lambda self: len(self.members) < 6)
    @rule(topics=st.sets(st.sampled_from(NAMES), min_size=1), assignor=st.sampled_from([None, "range"]))
    def join(self, topics: set[str], assignor: str | None) -> None:
        """A new member."""
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
        """A new member of the classic protocol, eager: it owns nothing when it joins."""
        self.count += 1
        member = Member(f"c{self.count}", 0, tuple(sorted(topics)), set(), set(), True)
        response = self.driver.classic_join(member.name, member.topics)
        if not response.error_code:
            member.epoch, member.needs_sync = response.generation_id, True
            self.members[member.name] = member

    def send(self, member: Member, tells: bool = True) -> None:
        """A member sends a heartbeat, with what it owns or without."""
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
        """One of the members."""
        found = [member for member in self.members.values() if member.classic == classic]
        return found[number % len(found)] if found else None

    @rule(number=st.integers(0, 9), tells=st.booleans())
    def heartbeat(self, number: int, tells: bool) -> None:
        """A member sends a heartbeat, with what it owns or without."""
        member = self.some(number, classic=False)
        if member is not None:
            self.send(member, tells)

    @rule(number=st.integers(0, 9))
    def give_up(self, number: int) -> None:
        """A member gives up what it is no longer told to own."""
        member = self.some(number, classic=False)
        if member is not None:
            member.owns &= member.told

    @rule(number=st.integers(0, 9), topics=st.sets(st.sampled_from(NAMES), min_size=1))
    def subscribe(self, number: int, topics: set[str]) -> None:
        """A member wants something else."""
        member = self.some(number, classic=False)
        if member is not None:
            member.topics, member.missed = tuple(sorted(topics)), True
            self.send(member)

    @rule(number=st.integers(0, 9))
    def lose_answer(self, number: int) -> None:
        """A member's heartbeat is served, and the answer lost."""
        member = self.some(number, classic=False)
        if member is not None:
            self.driver.send(member.name, member.epoch)
            member.missed = True

    @rule(number=st.integers(0, 9))
    def leave(self, number: int) -> None:
        """A member leaves."""
        member = self.some(number, classic=False)
        if member is not None and self.driver.send(member.name, -1).error_code == 0:
            self.members.pop(member.name, None)

    @rule(number=st.integers(0, 9))
    def classic_step(self, number: int) -> None:
        """A classic member does what is next: it syncs, or sends a heartbeat and joins again if it must."""
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

    # --- what else happens

    @rule(name=st.sampled_from(NAMES), more=st.integers(1, 3))
    def grow(self, name: str, more: int) -> None:
        """A topic is created or gets more partitions."""
        self.sizes[name] = min(self.sizes.get(name, 0) + more, 9)
        self.driver.cluster = cluster(*(topic(one, size) for one, size in self.sizes.items()))

    @rule(seconds=st.integers(1, 50))
    def silence(self, seconds: int) -> None:
        """Time passes; who is removed for it stops by itself: its own session has ended, too."""
        self.driver.pass_time(seconds * 1000)
        for member in [m for m in self.members.values() if m.name not in self.known()]:
            del self.members[member.name]

    @rule(fails=st.booleans())
    def disk(self, fails: bool) -> None:
        """Writing fails, or works again."""
        self.driver.store_error = ErrorCode.COORDINATOR_NOT_AVAILABLE if fails else ErrorCode.NONE

    @rule()
    def restart(self) -> None:
        """Another broker takes over, with the log alone."""
        before = self.driver.group.consumer_describe()
        self.driver.restart()
        assert self.driver.group.consumer_describe() == before

    def known(self) -> set[str]:
        """Whom the group knows."""
        return {member.member_id for member in self.driver.group.consumer_describe().members}

    # --- what must always be

    @invariant()
    def sizes_are_those_of_what_is_there(self) -> None:
        """What members take is counted as it is, however it came about."""
        state, again = self.driver.group._rebalance.state, GroupState()
        for kind, pieces in ((Kind.MEMBER, state.members), (Kind.REGEX, state.regexes)):
            for name, value in pieces.items():
                again.put(kind, name, value)
        assert state.held_bytes == again.held_bytes

    @invariant()
    def one_owner(self) -> None:
        """No partition is owned by two clients."""
        owners: dict[tuple[str, int], str] = {}
        for member in self.members.values():
            for partition in member.owns:
                assert partition not in owners, (partition, owners[partition], member.name)
                owners[partition] = member.name

    @invariant()
    def records_agree(self) -> None:
        """There are as many records as there are members."""
        kinds, count = self.driver.kinds(), len(self.known())
        for kind in (Kind.MEMBER, Kind.TARGET, Kind.CURRENT):
            assert kinds.get(kind, 0) == count, (kinds, count)

    @invariant()
    def no_deadlines_left(self) -> None:
        """Nobody who is gone has a deadline for longer than a session."""
        waiting = {member for _, member in self.driver.group._rebalance.deadlines._due}
        assert waiting <= self.known(), waiting - self.known()

    def teardown(self) -> None:
        """When nothing more happens everybody soon has its target, and everything is given.

        Members whose leaving was not answered, or who were not told that they joined, end with their session.
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
        """Whatever happens, partitions have one owner, records agree, and the group comes to rest."""
        run_state_machine_as_test(
            GroupMachine,
            settings=settings(
                max_examples=60,
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
