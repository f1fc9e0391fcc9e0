"""The settings of topics' logs: their configs over the broker's settings. It touches nothing.

A config that this broker cannot use is left out, and logged: another tool may have written it into the
cluster's state, and the topic must be served all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.logger import Logger

from kafkatx.config import BrokerConfig, log_config, topic_value, usable_topic_configs
from kafkatx.config.log_config import LogConfig
from kafkatx.config.table import topic as topic_configs
from kafkatx.errors import SettingError
from kafkatx.types import Topic


class TopicSettings:
    """The settings of topics.

    :ivar config: the broker's settings; replaced when they change.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self._complaints: dict[str, list[str]] = {}

    def of(self, topic: Topic) -> tuple[LogConfig, int]:
        """Return the settings of a topic's logs, and its min.insync.replicas."""
        try:
            found = self._of(topic.configs)
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
        self._complaints.pop(topic.name, None)
        return found

    def _of(self, configs: Mapping[str, str]) -> tuple[LogConfig, int]:
        """Return the same for some configs.

        :raises SettingError: a value is not allowed.
        """
        min_insync = topic_value(self.config, configs, topic_configs.MIN_INSYNC_REPLICAS)
        return log_config(self.config, configs), min_insync
