"""Settings: tables of names, types, defaults and texts, and the values, checks and documents made from them.

The tables are in :mod:`kafkatx.config.table`. The other modules are pure, but for reading the settings file::

    from kafkatx.config import BrokerConfig
    from kafkatx.config.table import broker as b

    config = BrokerConfig.load("etc/server.properties", {"num.partitions": "4"})
    config[b.NUM_PARTITIONS]  # 4
"""

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.describe import (
    ConfigEntry,
    ConfigSource,
    Synonym,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from kafkatx.config.listeners import Listener
from kafkatx.config.log_config import LogConfig
from kafkatx.config.table.row import ConfigType, Setting
from kafkatx.config.topic_config import log_config, topic_value, usable_topic_configs, validate_topic_configs

__all__ = [
    "BrokerConfig",
    "ConfigEntry",
    "ConfigSource",
    "ConfigType",
    "Listener",
    "LogConfig",
    "Setting",
    "Synonym",
    "describe_all_brokers",
    "describe_broker",
    "describe_client_metrics",
    "describe_group",
    "describe_topic",
    "log_config",
    "topic_value",
    "usable_topic_configs",
    "validate_topic_configs",
]
