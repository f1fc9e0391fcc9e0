"""The simulated cluster with a link to a source. It touches memory only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from kafkatx.broker.mirror.mirrors import Mirrors
from tests.simulation.mirror.checks import MirrorChecks
from tests.simulation.mirror.source import TOPIC, SourceCluster
from tests.simulation.replication.plan import Plan, TopicPlan
from tests.simulation.replication.world import World

LINK = "dc1"


def draw_plan(random: Random) -> Plan:
    """Draw the settings of a run: three brokers, and one topic that all of them have."""
    configs = {
        "min.insync.replicas": str(random.choice((1, 2, 2))),
        "segment.bytes": random.choice(("200", "500")),
        "retention.bytes": "300",
    }
    if random.random() < 0.3:
        configs["flush.messages"] = "1"
    settings = {
        "broker.rack": "r",
        "offsets.topic.num.partitions": "1",
        "replica.lag.time.max.ms": random.choice(("1500", "2500")),
        "replica.fetch.wait.max.ms": "300",
        "replica.fetch.backoff.ms": "150",
        "replica.socket.timeout.ms": "1500",
        "replica.high.watermark.checkpoint.interval.ms": "700",
        "controlled.shutdown.max.retries": "2",
        "controlled.shutdown.retry.backoff.ms": "700",
        "leader.imbalance.check.interval.seconds": random.choice(("5", "300")),
        "kafkatx.log.lines.per.minute": "1",
        "mirror.links": LINK,
        f"mirror.{LINK}.bootstrap.servers": "source1:9092,source2:9092",
        f"mirror.{LINK}.topics": ".*",
        f"mirror.{LINK}.fetch.max.wait.ms": "300",
        f"mirror.{LINK}.request.timeout.ms": "1500",
        f"mirror.{LINK}.max.partition.fetch.bytes": random.choice(("100", "1000")),
    }
    return Plan((1, 2, 3), settings, {TOPIC: TopicPlan(TOPIC, 1, 3, configs)})


@contextmanager
def uncontrolled() -> Iterator[None]:
    """Start mirrors without the controller's part: the simulation makes its changes of the record."""
    start: Any = Mirrors.start

    def start_alone(mirrors: Mirrors, *_: object) -> None:
        start(mirrors)

    kind: Any = Mirrors
    kind.start = start_alone
    try:
        yield
    finally:
        kind.start = start


class MirrorWorld(World):
    """A cluster whose topic t0 is a mirror.

    :ivar source: the source of the link.
    :ivar promotes: the topic may be promoted.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.source = SourceCluster(self.network)
        self.clients: Any = self.source
        self.promotes = self.random.random() < 0.5
        self.checks: Any = MirrorChecks(self.source, self.server, self.truth, self.machines)

    def make_plan(self, seed: int) -> Plan:
        """Draw the plan of a seed."""
        return draw_plan(self.random)
