"""Random members, silence, failing and slow stores, and time, checked against invariants."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.classic.records import decode_value
from kafkatx.group.classic.roster import Roster
from kafkatx.wire.messages.join_group import JoinGroupResponse
from kafkatx.wire.messages.leave_group import MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupResponse
from tests.group.classic.driver import SETTINGS, GroupDriver

REBALANCE_MS, SESSION_MS = 20_000, 8000
PROTOCOLS = ((("range", b"r"),), (("sticky", b"s"), ("range", b"r")), (("range", b"other"),))
KINDS = st.one_of(
    st.tuples(st.sampled_from(("i", "j")), st.sampled_from(PROTOCOLS), st.integers(5, 9)),
    st.tuples(st.none(), st.sampled_from(PROTOCOLS), st.integers(2, 9)),
)
"""Instance, protocols, and version of JoinGroup."""
ERRORS = (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS)


@attrs.define
class Consumer:
    """A client model: it joins until it is a member, syncs, and follows error codes."""

    instance: str | None
    protocols: tuple[tuple[str, bytes], ...]
    version: int
    member_id: str = ""
    generation: int = -1
    leads: bool = False
    others: tuple[str, ...] = ()
    token: int | None = None
    must_sync: bool = False
    part: bytes | None = None

    def reset(self) -> None:
        """Forget the member's state."""
        self.generation, self.part, self.must_sync, self.leads = -1, None, False, False


class GroupMachine(RuleBasedStateMachine):
    """A group and its consumers."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = GroupDriver(attrs.evolve(SETTINGS, max_size=4))
        self.consumers: list[Consumer] = []
        self.generation = 0
        self.parts: dict[tuple[int, str], bytes] = {}

    @initialize(kinds=st.lists(KINDS, max_size=5), rounds=st.integers(0, 5))
    def begin(self, kinds: list[Any], rounds: int) -> None:
        """Begin with some consumers, after some rounds of requests."""
        for kind in kinds:
            self.comes(kind)
        for _ in range(rounds):
            self.all_act(3000, -1)

    # Consumers' actions

    @rule(kind=KINDS)
    def comes(self, kind: Any) -> None:
        """Add a consumer, possibly with the instance id of another."""
        if len(self.consumers) < 8:
            self.consumers.append(Consumer(*kind))
            self.step(self.consumers[-1])

    @precondition(lambda self: self.consumers)
    @rule(data=st.data())
    def acts(self, data: st.DataObject) -> None:
        """Take the next step of one consumer."""
        self.step(data.draw(st.sampled_from(self.consumers)))

    @precondition(lambda self: self.consumers)
    @rule(ms=st.sampled_from([0, 1000, 3000]), lazy=st.integers(-1, 3))
    def all_act(self, ms: int, lazy: int) -> None:
        """Advance the time, and take the next step of all consumers but one."""
        self.driver.pass_ms(ms)
        for at, consumer in enumerate(list(self.consumers)):
            if at != lazy and consumer in self.consumers:
                self.step(consumer)

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), offer=st.sampled_from(PROTOCOLS))
    def joins_anew(self, data: st.DataObject, offer: Any) -> None:
        """Join with a new subscription, or after a time-out, even while a request waits."""
        consumer = data.draw(st.sampled_from(self.consumers))
        consumer.protocols = offer
        self.send_join(consumer)

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), politely=st.booleans())
    def goes(self, data: st.DataObject, politely: bool) -> None:
        """Remove a consumer, with or without LeaveGroup."""
        consumer = data.draw(st.sampled_from(self.consumers))
        self.consumers.remove(consumer)
        if politely and (consumer.member_id or consumer.instance):
            self.driver.leave(MemberIdentity(consumer.member_id, consumer.instance))

    @precondition(lambda self: self.driver.group.members)
    @rule(data=st.data())
    def strange_request(self, data: st.DataObject) -> None:
        """Send requests with a random member id and generation."""
        member_id = data.draw(st.sampled_from(["x", *self.driver.group.members]))
        generation = data.draw(st.integers(-1, self.driver.group.generation + 1))
        parts = None if generation == self.generation else {member_id: b"strange"}
        self.driver.sync(member_id, parts, generation=generation, version=4)
        self.driver.heartbeat(member_id, generation)
        self.driver.commit(member_id, generation)

    # The environment

    @rule(ms=st.sampled_from([1, 3000, 7999, 25_000]))
    def time_passes(self, ms: int) -> None:
        """Advance the time."""
        self.driver.pass_ms(ms)

    @rule(errors=st.lists(st.sampled_from(ERRORS), max_size=2), holds=st.booleans())
    def disk(self, errors: list[ErrorCode], holds: bool) -> None:
        """Set the errors of the next stores, and whether stores are held."""
        self.driver.errors, self.driver.holds = errors, holds

    @precondition(lambda self: self.driver.held)
    @rule()
    def store_ends(self) -> None:
        """Complete a store."""
        self.driver.end_store()

    # The client model

    def step(self, consumer: Consumer) -> None:
        """Read the answer that has come, or send the next request."""
        if consumer.token is not None:
            if not self.driver.waits(consumer.token):
                self.read(consumer, self.driver.answers[consumer.token])
        elif consumer.must_sync:
            self.send_sync(consumer)
        elif consumer.part is not None:
            self.obey(
                consumer, self.driver.heartbeat(consumer.member_id, consumer.generation, consumer.instance)
            )
        else:
            self.send_join(consumer)

    def send_join(self, consumer: Consumer) -> None:
        """Send a JoinGroup with the consumer's own ids."""
        consumer.reset()
        consumer.token = self.driver.join(
            consumer.member_id,
            version=consumer.version,
            instance=consumer.instance,
            protocols=consumer.protocols,
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
        )

    def send_sync(self, consumer: Consumer) -> None:
        """Send a SyncGroup; a leader assigns to each member a part that only that member gets."""
        name = f"{consumer.generation} "
        parts = {m: f"{name}{m}".encode() for m in consumer.others} if consumer.leads else None
        consumer.must_sync = False
        consumer.token = self.driver.sync(
            consumer.member_id,
            parts,
            generation=consumer.generation,
            instance=consumer.instance,
            version=4,
        )

    def read(self, consumer: Consumer, answer: Any) -> None:
        """Apply an answer."""
        consumer.token = None
        if answer.error_code:
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                consumer.member_id = answer.member_id
            self.obey(consumer, ErrorCode(answer.error_code))
        elif isinstance(answer, JoinGroupResponse):
            consumer.member_id, consumer.generation = answer.member_id, answer.generation_id
            consumer.leads = answer.leader == answer.member_id and not answer.skip_assignment
            consumer.others = tuple(m.member_id for m in answer.members)
            consumer.must_sync = True
        else:
            consumer.part = answer.assignment

    def obey(self, consumer: Consumer, error: ErrorCode) -> None:
        """Follow an error: join again, join as a new member, or stop."""
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            consumer.member_id = ""
        if error in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            if consumer in self.consumers:
                self.consumers.remove(consumer)
        elif error:
            consumer.reset()

    # Invariants

    @invariant()
    def one_part_per_member_and_generation(self) -> None:
        """Check that a member has one part per generation, and that no two members have the same."""
        for consumer in self.consumers:
            if consumer.part:
                key = (consumer.generation, consumer.member_id)
                assert consumer.part.decode().startswith(f"{consumer.generation} ")
                assert self.parts.setdefault(key, consumer.part) == consumer.part
        owned = [
            (member.member_id, member.assignment)
            for member in self.driver.group.members.values()
            if member.assignment and self.driver.group.state == "Stable"
        ]
        assert len({part for _, part in owned}) == len(owned)

    @invariant()
    def told_is_stored(self) -> None:
        """Check that every assignment that was answered is in a record."""
        stored = {
            member.assignment
            for record in self.driver.records
            for member in decode_value(record.value or b"").members
        }
        told = {a.assignment for a in self.driver.answers.values() if isinstance(a, SyncGroupResponse)}
        assert told <= stored | {b""}

    @invariant()
    def generations_never_go_back(self) -> None:
        """Check that generations never decrease, in memory and in the records."""
        assert self.driver.group.generation >= self.generation
        self.generation = self.driver.group.generation
        generations = [decode_value(record.value or b"").generation for record in self.driver.records]
        assert generations == sorted(generations)

    @invariant()
    def roster_is_consistent(self) -> None:
        """Check that leader, instances, votes and unsynced members agree with the members."""
        group, roster = self.driver.group, self.driver.group._membership.roster
        assert (group.leader in roster.members) == bool(roster.members)
        static = {m.group_instance_id: m.member_id for m in roster.members.values() if m.is_static}
        assert static == roster.instances
        assert not set(roster.pending) & set(roster.members)
        again = Roster(roster.members.values())
        for member_id in roster.pending:
            again.expect(member_id, 0)
        assert roster.held_bytes == again.held_bytes
        offered = [name for m in roster.members.values() for name, _ in m.protocols]
        assert +roster._offering == {name: offered.count(name) for name in offered}
        assert (group.state == "Empty") <= (not roster.members)
        assert group._rebalance.unsynced <= set(roster.members)

    @invariant()
    def every_waiting_token_is_held_once(self) -> None:
        """Check that each unanswered token is held by exactly one member."""
        tokens = [
            token
            for member in self.driver.group.members.values()
            for token in (member.join_token, member.sync_token)
            if token is not None
        ]
        assert Counter(tokens) == Counter(token for token in self.driver.versions if self.driver.waits(token))

    def teardown(self) -> None:
        """Check that without failures or new consumers, those left soon form one stable group."""
        driver = self.driver
        driver.errors, driver.holds = [], False
        while driver.held:
            driver.end_store()
        for _ in range(4 * REBALANCE_MS // 1000):
            for consumer in list(self.consumers):
                for _ in range(3):
                    if consumer in self.consumers:
                        self.step(consumer)
            driver.pass_ms(1000)
            self.one_part_per_member_and_generation()
        group = driver.group
        living = {consumer.member_id for consumer in self.consumers}
        assert set(group.members) == living, (group.state, set(group.members), living)
        assert group.state == ("Stable" if living else "Empty")
        for consumer in self.consumers:
            assert consumer.part == group.members[consumer.member_id].assignment
            assert consumer.generation == group.generation
        driver.pass_ms(SESSION_MS + 1)
        assert not group.members and not group._membership.roster.pending
        assert not [token for token in driver.versions if driver.waits(token)]


class ModelTests(SynchronousTestCase):
    def test_model(self) -> None:
        """The invariants hold in every random run."""
        run_state_machine_as_test(
            GroupMachine,
            settings=settings(
                max_examples=150,
                stateful_step_count=50,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
