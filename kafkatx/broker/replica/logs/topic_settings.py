"""The settings of topics' logs: their configs over the broker's settings. It touches nothing.

A config that this broker cannot use is left out, and logged: another tool may have written it into the
cluster's state, and the topic must be served all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
from twisted.logger import Logger

from kafkatx.config import BrokerConfig, log_config, topic_value, usable_topic_configs
from kafkatx.config.log_config import LogConfig
from kafkatx.config.table import topic as topic_configs
from kafkatx.errors import SettingError
from kafkatx.names import KAFKATX_MIRROR
from kafkatx.types import Topic

if TYPE_CHECKING:  # few topics are mirrors
    from kafkatx.config.mirror_record import MirrorRecord

KEEP = "keep"
"""The value of ``kafkatx.retention`` with which nothing is deleted."""

MOST_KNOWN = 1000
"""Settings that are remembered: of ten thousand topics most have the same configs."""


class TopicSettings:
    """The settings of topics."""

    _log = Logger()

    def __init__(self, config: BrokerConfig) -> None:
        self._complaints: dict[str, list[str]] = {}
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings of the broker: many are defaults of the topics' configs."""
        self._config = config
        self._known: dict[frozenset[tuple[str, str]], tuple[LogConfig, int]] = {}

    def of(self, topic: Topic) -> tuple[LogConfig, int]:
        """Return the settings of a topic's logs, and its min.insync.replicas."""
        key = frozenset(topic.configs.items())
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._usable(topic)
        return found

    def default(self) -> LogConfig:
        """Return the settings of the logs of an unknown topic."""
        return log_config(self._config, {})

    def _usable(self, topic: Topic) -> tuple[LogConfig, int]:
        try:
            return self._of(topic.configs)
        except SettingError:
            usable, complaints = usable_topic_configs(topic.configs)
            if self._complaints.get(topic.name) != complaints:
                self._complaints[topic.name] = complaints
                for complaint in complaints:
                    self._log.warn(
                        "topic {topic}: a config is not used: {complaint}",
                        topic=topic.name,
                        complaint=complaint,
                    )
            return self._of(usable)

    def _of(self, configs: Mapping[str, str]) -> tuple[LogConfig, int]:
        """Return the same for some configs. The logs of a mirror start where their source's do.

        :raises SettingError: a value is not allowed.
        """
        min_insync = topic_value(self._config, configs, topic_configs.MIN_INSYNC_REPLICAS)
        config = log_config(self._config, configs)
        if KAFKATX_MIRROR in configs and not _is_writable(configs):
            config = attrs.evolve(config, retention_policy=KEEP, retention_ms=-1, retention_bytes=-1)
        return config, min_insync


def mirror_of(topic: Topic) -> MirrorRecord | None:
    """Return the record of the mirror that a topic is; None for most topics."""
    if KAFKATX_MIRROR not in topic.configs:
        return None
    from kafkatx.config.mirror_record import record_of

    return record_of(topic.configs)


def _is_writable(configs: Mapping[str, str]) -> bool:
    from kafkatx.config.mirror_record import record_of

    record = record_of(configs)
    return record is None or record.writable
