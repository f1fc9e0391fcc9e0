"""The settings that the controller acts by. Pure.

Topics have configs of their own; their defaults are the dynamic settings of all brokers, and after these the
settings of the broker that is the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias, TypeVar

import attrs

from kafkatx.config import BrokerConfig, topic_value
from kafkatx.config.table import replication
from kafkatx.config.table import topic as topic_configs
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError
from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.types import ALL_BROKERS, ClusterState, Topic

T = TypeVar("T")

RulesOf: TypeAlias = Callable[[ClusterState], Callable[[Topic], TopicRules]]
"""Returns the function that returns the rules of a topic, as they are in a state of the cluster."""


class ConfiguredRules:
    """The rules of topics by the configs of topics and brokers.

    :param config: the settings of this broker.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._static = config
        self._config = config
        self._defaults: Mapping[str, str] = {}

    def __call__(self, state: ClusterState) -> Callable[[Topic], TopicRules]:
        """Return the function that returns the rules of a topic."""
        defaults = state.broker_configs.get(ALL_BROKERS, {})
        if defaults is not self._defaults:
            self._defaults = defaults
            try:
                self._config = self._static.with_dynamic(defaults, {})
            except SettingError:
                self._config = self._static  # brokers log what they cannot use
        return self._of

    def _of(self, topic: Topic) -> TopicRules:
        return TopicRules(
            self._value(topic, topic_configs.UNCLEAN_LEADER_ELECTION_ENABLE),
            self._value(topic, topic_configs.MIN_INSYNC_REPLICAS),
        )

    def _value(self, topic: Topic, setting: Setting[T]) -> T:
        try:
            return topic_value(self._config, topic.configs, setting)
        except SettingError:
            return topic_value(self._config, {}, setting)


@cache
def _default_config() -> BrokerConfig:
    return BrokerConfig.load()


def default_rules() -> RulesOf:
    """Return the rules of topics by their own configs and the default settings."""
    return ConfiguredRules(_default_config())


@attrs.frozen
class ControllerOptions:
    """Settings of the controller.

    :ivar rules: the rules of topics.
    :ivar balance_interval_s: seconds between looks for brokers that lead too little; None: no looks.
    :ivar imbalance_percentage: ``leader.imbalance.per.broker.percentage``.
    """

    rules: RulesOf = attrs.field(factory=default_rules)
    balance_interval_s: float | None = None
    imbalance_percentage: int = 10

    @classmethod
    def of(cls, config: BrokerConfig) -> ControllerOptions:
        """Return the options for the settings of a broker."""
        interval_s = config[replication.LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS]
        return cls(
            ConfiguredRules(config),
            float(interval_s) if config[replication.AUTO_LEADER_REBALANCE_ENABLE] else None,
            config[replication.LEADER_IMBALANCE_PER_BROKER_PERCENTAGE],
        )
