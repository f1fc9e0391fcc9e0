"""The plan of a run: brokers, topics and settings, drawn by chance. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from attrs import frozen

REPLICATED = True
"""Topics have several replicas: brokers copy them."""


@frozen
class TopicPlan:
    """A topic: its partitions, replicas and configs."""

    name: str
    partitions: int
    replicas: int
    configs: Mapping[str, str]

    @property
    def unclean(self) -> bool:
        """True if an unclean election is allowed."""
        return self.configs.get("unclean.leader.election.enable") == "true"


@frozen
class Plan:
    """The plan of a run.

    :ivar brokers: the ids of the brokers.
    :ivar topics: the topics that clients create, by name.
    """

    brokers: tuple[int, ...]
    settings: Mapping[str, str]
    topics: Mapping[str, TopicPlan]

    @classmethod
    def draw(cls, random: Random) -> Plan:
        """Draw a plan."""
        brokers = tuple(range(1, random.choice((3, 3, 3, 4)) + 1))
        topics = {}
        for number in range(random.choice((1, 2, 2, 3))):
            replicas = random.choice((3, 3, 3, 2)) if REPLICATED else 1
            configs = {
                "min.insync.replicas": str(random.choice((1, 2, 2)) if replicas > 1 else 1),
                "segment.bytes": random.choice(("200", "500")),
                "retention.bytes": random.choice(("300", "1500")),
            }
            if random.random() < 0.15:
                configs["unclean.leader.election.enable"] = "true"
            if random.random() < 0.3:
                configs["flush.messages"] = "1"
            topics[f"t{number}"] = TopicPlan(f"t{number}", random.choice((1, 2)), replicas, configs)
        settings = {
            "broker.rack": "r",
            "default.replication.factor": "3" if REPLICATED else "1",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3" if REPLICATED else "1",
            "offsets.commit.timeout.ms": "1500",
            "replica.lag.time.max.ms": random.choice(("1500", "2500")),
            "replica.fetch.wait.max.ms": "300",
            "replica.fetch.backoff.ms": "150",
            "replica.socket.timeout.ms": "1500",
            "replica.high.watermark.checkpoint.interval.ms": "700",
            "controlled.shutdown.max.retries": "2",
            "controlled.shutdown.retry.backoff.ms": "700",
            "leader.imbalance.check.interval.seconds": random.choice(("5", "300")),
            "kafkatx.log.lines.per.minute": "1",
        }
        return cls(brokers, settings, topics)

    def unclean(self, topic: str) -> bool:
        """Return True if an unclean election of a topic is allowed."""
        known = self.topics.get(topic)
        return known is not None and known.unclean
