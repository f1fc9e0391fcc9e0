"""The plan of a run: brokers, topics and settings, drawn by chance. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from attrs import evolve, frozen

REPLICATED = True
"""Topics have several replicas: brokers copy them."""

SCENARIOS = (
    "old reply",
    "stale join",
    "late answer",
    "deleted topic",
    "recreated topic",
    "parked writers",
    "fewer needed",
    "lost epochs",
    "lost reply",
    "deleted records",
    "other data",
)
"""The scenarios of directed runs, which are those of odd seeds: of 1, 23, 45 and so on the first."""


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
    :ivar scenario: the name of what is made again and again; None for chance alone.
    :ivar produce_ms: the time-out of producers' requests.
    """

    brokers: tuple[int, ...]
    settings: Mapping[str, str]
    topics: Mapping[str, TopicPlan]
    scenario: str | None = None
    produce_ms: int = 1500

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

    @classmethod
    def of_seed(cls, seed: int, random: Random) -> Plan:
        """Draw the plan of a seed: an odd one directs its run."""
        plan = cls.draw(random)
        if seed % 2 == 0:
            return plan
        topics = {name: evolve(each, replicas=3) for name, each in plan.topics.items()}
        topics.setdefault("t1", evolve(topics["t0"], name="t1"))
        return evolve(
            plan,
            settings={**plan.settings, "replica.socket.timeout.ms": "8000"},
            topics=topics,
            scenario=SCENARIOS[seed // 2 % len(SCENARIOS)],
            produce_ms=3500,
        )

    def unclean(self, topic: str) -> bool:
        """Return True if an unclean election of a topic is allowed."""
        known = self.topics.get(topic)
        return known is not None and known.unclean
