"""Random events of a group: it always comes to rest with every partition owned once."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, STICKY
from kafkatx.clientcore.group.membership import State
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from tests.clientcore.group.membership.world import BEAT_MS, POLL_MS, SESSION_MS, SETTLED_MS, Actor, World

TOPICS = ("t", "u")
MOST_MEMBERS = 5
INDEX = st.integers(0, MOST_MEMBERS - 1)
WANTED = st.sampled_from((("t",), ("u",), ("t", "u")))


class Lives(RuleBasedStateMachine):
    """Members come, leave, are stopped, cut off, slow, and resubscribe; topics grow; time passes.

    The world raises an error if two members own a partition at once, and one of them could know better.
    """

    @initialize(
        assignors=st.sampled_from(((RANGE,), (STICKY,), (COOPERATIVE_STICKY,), (RANGE, COOPERATIVE_STICKY))),
        delay_ms=st.sampled_from((0, 3000)),
    )
    def begin(self, assignors: Any, delay_ms: int) -> None:
        """Make an empty group."""
        self.world = World({"t": 4, "u": 3}, delay_ms)
        self.assignors = assignors

    @property
    def alive(self) -> list[Actor]:
        """Return the members that were not closed."""
        return [actor for actor in self.world.members if actor.left == 0 and actor.state is not State.CLOSED]

    def one(self, index: int) -> Actor:
        """Return one of the members."""
        alive = self.alive
        return alive[index % len(alive)]

    @precondition(lambda self: len(self.alive) < MOST_MEMBERS)
    @rule(topics=WANTED, static=st.booleans())
    def come(self, topics: Any, static: bool) -> None:
        """Add a member."""
        instance_id = f"i{len(self.world.members)}" if static else None
        self.world.member(*topics, assignors=self.assignors, group_instance_id=instance_id)

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def go(self, index: int) -> None:
        """Close a member."""
        actor = self.one(index)
        if not actor.frozen:
            actor.close()

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def freeze(self, index: int) -> None:
        """Stop a member, or continue it."""
        actor = self.one(index)
        if actor.frozen:
            actor.thaw()
        else:
            actor.frozen = True

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def cut_off(self, index: int) -> None:
        """Drop all requests of a member, or stop dropping them."""
        actor = self.one(index)
        actor.deaf = None if actor.deaf else ConnectionFailed("cut off")

    @precondition(lambda self: self.alive)
    @rule(index=INDEX)
    def be_slow(self, index: int) -> None:
        """Make a member's application slow, or fast again."""
        self.hurry(self.one(index), not self.one(index).patient)

    def hurry(self, actor: Actor, patient: bool = False) -> None:
        """Finish what an application is processing."""
        actor.patient = patient
        if not patient and actor.busy:
            actor.finish()

    @precondition(lambda self: self.alive)
    @rule(index=INDEX, waiting=st.booleans())
    def poll(self, index: int, waiting: bool) -> None:
        """Poll as a member's application."""
        if not self.one(index).frozen:
            self.one(index).poll(waiting)

    @precondition(lambda self: self.alive)
    @rule(index=INDEX, topics=WANTED)
    def change(self, index: int, topics: Any) -> None:
        """Change a member's subscription."""
        if not self.one(index).frozen:
            self.one(index).subscribe(*topics)

    @rule(topic=st.sampled_from(TOPICS))
    def grow(self, topic: str) -> None:
        """Add partitions to a topic, and tell the members that are reachable."""
        self.world.topics[topic] = min(self.world.topics[topic] + 1, 9)
        self.world.tell_topics()

    @rule(ms=st.sampled_from((1, BEAT_MS, SESSION_MS, SESSION_MS + BEAT_MS, POLL_MS)))
    def wait(self, ms: int) -> None:
        """Advance the time."""
        self.world.pass_ms(ms)

    @invariant()
    def sane(self) -> None:
        """Check that owned partitions have a generation, and that no member has failed or is overdue."""
        for actor in getattr(self, "world", World({})).members:
            assert not actor.errors, actor.errors
            assert actor.frozen or actor.machine.deadline_ms > actor.world.now_ms
            if actor.machine.owned and actor.machine.generation < 0:
                assert actor.busy

    def teardown(self) -> None:
        """Check that with all members running the group comes to rest, and no member joins any more."""
        if not hasattr(self, "world"):
            return
        for actor in self.alive:
            actor.deaf = None
            actor.thaw()
            self.hurry(actor)
            actor.poll(waiting=True)
        self.world.pass_ms(2 * SETTLED_MS)
        self.world.tell_topics()
        self.world.pass_ms(2 * SETTLED_MS)
        alive = self.alive
        wanted = {topic for actor in alive for topic in actor.machine._topics or ()}
        assert all(actor.state is State.STABLE for actor in alive), [actor.state for actor in alive]
        assert self.world.whole(*wanted), (self.world.owners.keys(), wanted)
        asked = [len(actor.sent(object)) - len(actor.sent(HeartbeatRequest)) for actor in alive]
        self.world.pass_ms(SETTLED_MS)
        assert [len(actor.sent(object)) - len(actor.sent(HeartbeatRequest)) for actor in alive] == asked


class LivesTests(SynchronousTestCase):
    def test_lives(self) -> None:
        """The invariants hold in every random run."""
        case = Lives.TestCase
        case.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
        case("runTest").runTest()
