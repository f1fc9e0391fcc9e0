"""Consumer groups of our own client, alone and beside members that others wrote."""

from __future__ import annotations

from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from tests.integration.test_groups import LONG_SESSION_MS, MOVED_S, GroupCase, GroupContract

OTHERS = ("confluent-kafka", "kafka-python")


class OurTests(GroupContract, SynchronousTestCase):
    """Our client does what every client does."""

    client = "kafkatx"

    def test_cooperative(self) -> None:
        """Members that rebalance incrementally keep what they have while others get their part."""
        join = partial(self.join, LONG_SESSION_MS, partition_assignment_strategy="cooperative-sticky")
        first, second = join(), join()
        self.settled(first, second)
        before = [first.owned, second.owned]
        third = join()
        self.settled(first, second, third)
        for member, had in zip((first, second), before, strict=True):
            self.assertLess(member.owned, had)
        self.send()
        self.all_come()


class MixedTests(GroupCase, SynchronousTestCase):
    """Our members beside others': the first that comes leads, and assigns for all."""

    def mix(self, strategy: str, first: str, second: str) -> None:
        """Two of a client and one of another share; one of each leaves or dies; one comes again."""
        how = partial(self.join, partition_assignment_strategy=strategy)
        members = [how(client=first)]
        self.settled(*members)
        members += [how(client=second), how(client=first)]
        self.settled(*members)
        self.send()
        self.all_come()
        members.pop(0).leave()  # who led
        self.settled(*members)
        members.pop(0).kill()
        self.settled(*members, seconds=MOVED_S)
        members += [how(client=second)]
        self.settled(*members)
        self.send()
        self.all_come()

    def test_range_we_lead(self) -> None:
        """librdkafka and kafka-python follow our assignments by range."""
        self.mix("range", "kafkatx", "confluent-kafka")

    def test_range_we_follow(self) -> None:
        """We follow librdkafka's."""
        self.mix("range", "confluent-kafka", "kafkatx")

    def test_range_python(self) -> None:
        """Groups are shared with kafka-python, both ways."""
        self.mix("range", "kafka-python", "kafkatx")

    def test_range_python_follows(self) -> None:
        """And with it following."""
        self.mix("range", "kafkatx", "kafka-python")

    def test_cooperative_we_lead(self) -> None:
        """librdkafka follows our cooperative assignments: it gives up only what goes to others."""
        self.mix("cooperative-sticky", "kafkatx", "confluent-kafka")

    def test_cooperative_we_follow(self) -> None:
        """We follow librdkafka's."""
        self.mix("cooperative-sticky", "confluent-kafka", "kafkatx")

    def test_cooperative_python(self) -> None:
        """kafka-python's cooperative members are led by us."""
        self.mix("cooperative-sticky", "kafkatx", "kafka-python")

    def test_cooperative_python_leads(self) -> None:
        """And lead us."""
        self.mix("cooperative-sticky", "kafka-python", "kafkatx")
