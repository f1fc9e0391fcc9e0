"""The contract of a ConsumerConnector's balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zope.interface.verify import verifyObject

from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Subscription, Whitelist
from kafkatx.interfaces import IBalancer
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case

    from kafkatx.client import Consumer
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPIC = "events"
BOTH = {TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)}


class Member:
    """A balancer that has joined with a consumer, and what its listener has heard."""

    def __init__(self, balancer: IBalancer, consumer: Consumer) -> None:
        self.balancer = balancer
        self.consumer = consumer
        self.has: set[TopicPartition] = set()
        self.leaving = False

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Add the partitions, which the consumer already has."""
        assert partitions <= self.consumer.assignment(), "the listener is told when the consumer has them"
        self.has |= partitions

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """Commit, as a connector does, which at its own end has done so before: it can still be done."""
        if not self.leaving:
            await self.balancer.commit(dict.fromkeys(partitions, OffsetAndMetadata(1, "revoked")))
        self.has -= partitions

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        """Remove the partitions, which the consumer no longer has."""
        self.has -= partitions


class BalancerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IBalancer`: members of one group, and a topic of two partitions."""

    def make_topic(self, topic: str, partitions: int) -> None:
        """Create a topic, with two records in each partition."""
        raise NotImplementedError

    def make_balancer(self) -> IBalancer:
        """Return a balancer that has not joined."""
        raise NotImplementedError

    def make_consumer(self) -> Consumer:
        """Return a started ``kafkatx.client.Consumer`` of the group that commits nothing by itself."""
        raise NotImplementedError

    def settle(self) -> None:
        """Advance time until the group is balanced."""
        raise NotImplementedError

    def wait(self, waiting: Any, seconds: float = 1.0) -> Any:
        """Return the result of a Deferred that fires within *seconds*, or raise its error."""
        raise NotImplementedError

    def joined(self, subscription: Subscription | None = None) -> Member:
        """Return a member of the group that reads the topic."""
        member = Member(self.make_balancer(), self.make_consumer())
        self.addCleanup(setattr, member, "leaving", True)
        wanted = subscription or Subscription({TOPIC: 1})
        self.wait(member.balancer.join(member.consumer, wanted, member))
        self.settle()
        return member

    def leave(self, member: Member) -> None:
        """Leave as a connector does."""
        member.leaving = True
        self.wait(member.balancer.leave(), 5)
        self.wait(member.consumer.close(), 5)
        self.settle()

    def test_interface(self) -> None:
        """Check that it provides IBalancer."""
        self.assertTrue(verifyObject(IBalancer, self.make_balancer()))

    def test_alone(self) -> None:
        """Check that a single member gets all partitions and its listener is called."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        self.assertEqual(member.has, BOTH)
        self.assertEqual(member.consumer.assignment(), BOTH)

    def test_filter(self) -> None:
        """Check that with a filter the topics are those that match it."""
        self.make_topic(TOPIC, 2)
        self.make_topic("others", 1)
        self.assertEqual(self.joined(Subscription(filter=Whitelist("e.*"), streams=1)).has, BOTH)

    def test_shared(self) -> None:
        """Check that two members share, and that when one leaves the other gets all partitions again."""
        self.make_topic(TOPIC, 2)
        first, second = self.joined(), self.joined()
        self.assertEqual((len(first.has), len(second.has)), (1, 1))
        self.assertEqual(first.has | second.has, BOTH)
        for member in (first, second):
            self.assertEqual(member.consumer.assignment(), member.has)
        self.leave(first)
        self.assertEqual(second.has, BOTH)

    def test_offsets(self) -> None:
        """Check that the next owner of a partition goes on from the offset that was kept."""
        self.make_topic(TOPIC, 2)
        first = self.joined()
        self.wait(first.balancer.commit({at: OffsetAndMetadata(1 + at.partition) for at in BOTH}))
        self.leave(first)
        second = self.joined()
        found = {at: self.wait(second.consumer.position(at)) for at in BOTH}
        self.assertEqual(found, {at: 1 + at.partition for at in BOTH})

    def test_revoked(self) -> None:
        """Check that offsets committed while partitions are revoked are there for the next owner."""
        self.make_topic(TOPIC, 2)
        self.joined()
        second = self.joined()
        (at,) = second.has
        self.assertEqual(self.wait(second.consumer.position(at)), 1)
