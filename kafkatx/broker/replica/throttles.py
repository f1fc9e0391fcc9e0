"""The throttles of copies that catch up (KIP-73): those of a reassignment leave room for clients. Pure.

It reads the time from a clock that it is handed, and configs from the cluster's state. A throttle holds back
copies of the partitions that a topic's ``leader.replication.throttled.replicas`` or
``follower.replication.throttled.replicas`` lists for this broker, while these together exceed
``leader.replication.throttled.rate`` or ``follower.replication.throttled.rate``. A follower that is in sync
is never held back: producers wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kafkatx.config import BrokerConfig
from kafkatx.config.table import replication
from kafkatx.config.table.row import LONG_MAX, Setting
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.admission.rates import Rate, Window
from kafkatx.types import Topic, TopicPartition

WINDOW = Window(samples=11, sample_ms=1000)
"""As ``replication.quota.window.num`` and ``replication.quota.window.size.seconds`` by default."""

ALL = "*"


@lru_cache(maxsize=1000)
def listed_partitions(replicas: str, broker_id: int) -> frozenset[int] | None:
    """Return the partitions that ``partition:broker,...`` lists for a broker; None: all (``*``)."""
    if replicas.strip() == ALL:
        return None
    pairs = (item.strip().partition(":") for item in replicas.split(","))
    return frozenset(
        int(number) for number, _, broker in pairs if number.isdigit() and broker == str(broker_id)
    )


class ReplicationThrottle:
    """The throttle of the copies that leave this broker, or of those that come to it.

    :ivar broker_id: the id of this broker.
    :ivar is_on: False if there is no limit: nothing else need be asked then.
    """

    def __init__(
        self,
        setting: Setting[int],
        replicas: str,
        config: BrokerConfig,
        metadata: IMetadataStore,
        now_s: Callable[[], float],
    ) -> None:
        """Make the throttle of a rate, for the partitions that a topic config, *replicas*, lists."""
        self._setting = setting
        self._replicas = replicas
        self.broker_id: int = config.get("broker.id")
        self._metadata = metadata
        self._now_s = now_s
        self._rate = Rate(WINDOW)
        self.is_on = False
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use another limit."""
        self._limit = config[self._setting]
        self.is_on = self._limit < LONG_MAX

    def is_listed(self, name: TopicPartition) -> bool:
        """Return True if copies of a partition count, and are held back."""
        topic: Topic | None = self._metadata.state.topics.get(name.topic)
        text = topic.configs.get(self._replicas) if topic is not None else None
        if not text:
            return False
        partitions = listed_partitions(text, self.broker_id)
        return partitions is None or name.partition in partitions

    def holds_back(self, name: TopicPartition) -> bool:
        """Return True if a partition must not be copied now."""
        return self.is_on and self.is_listed(name) and self.pause_s() > 0

    def pause_s(self) -> float:
        """Return the time after which the rate is within the limit, if nothing is copied meanwhile."""
        if not self.is_on:
            return 0.0
        return self._rate.throttle_time_ms(max(self._limit, 1), int(self._now_s() * 1000)) / 1000

    def count(self, name: TopicPartition, size: int) -> None:
        """Count bytes of a partition that were copied."""
        if self.is_on and self.is_listed(name):
            self._rate.add(size, int(self._now_s() * 1000))


class ReplicationThrottles:
    """Both throttles of a broker.

    :ivar leader: of what followers copy from here.
    :ivar follower: of what is copied to here.
    """

    def __init__(self, config: BrokerConfig, metadata: IMetadataStore, now_s: Callable[[], float]) -> None:
        self.leader = ReplicationThrottle(
            replication.LEADER_REPLICATION_THROTTLED_RATE,
            "leader.replication.throttled.replicas",
            config,
            metadata,
            now_s,
        )
        self.follower = ReplicationThrottle(
            replication.FOLLOWER_REPLICATION_THROTTLED_RATE,
            "follower.replication.throttled.replicas",
            config,
            metadata,
            now_s,
        )

    def use(self, config: BrokerConfig) -> None:
        """Use other limits."""
        self.leader.use(config)
        self.follower.use(config)
