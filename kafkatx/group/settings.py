"""The settings of groups, as a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kafkatx.config import BrokerConfig
from kafkatx.config.group_config import group_value
from kafkatx.config.table import consumer_group
from kafkatx.config.table import groups as g


@attrs.frozen
class GroupSettings:
    """Values of the ``group.*`` and ``kafkatx.group*`` settings with these names."""

    initial_rebalance_delay_ms: int = 3000
    min_session_timeout_ms: int = 6000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1
    member_max_bytes: int = 1 << 20
    group_max_bytes: int = 16 << 20
    groups_max_bytes: int = 128 << 20
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5000
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: str = "bidirectional"

    @classmethod
    def of(cls, config: BrokerConfig) -> GroupSettings:
        """Return the values of a broker's settings."""
        return cls(
            initial_rebalance_delay_ms=config[g.GROUP_INITIAL_REBALANCE_DELAY_MS],
            min_session_timeout_ms=config[g.GROUP_MIN_SESSION_TIMEOUT_MS],
            max_session_timeout_ms=config[g.GROUP_MAX_SESSION_TIMEOUT_MS],
            max_size=config[g.GROUP_MAX_SIZE],
            member_max_bytes=config[g.GROUP_MEMBER_MAX_BYTES],
            group_max_bytes=config[g.GROUP_MAX_BYTES],
            groups_max_bytes=config[g.GROUPS_MAX_BYTES],
            consumer_session_timeout_ms=config[g.GROUP_CONSUMER_SESSION_TIMEOUT_MS],
            consumer_heartbeat_interval_ms=config[g.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS],
            consumer_max_size=config[g.GROUP_CONSUMER_MAX_SIZE],
            consumer_assignors=config[g.GROUP_CONSUMER_ASSIGNORS],
            migration_policy=config[g.GROUP_CONSUMER_MIGRATION_POLICY],
        )

    def with_group_configs(self, config: BrokerConfig, group_configs: Mapping[str, str]) -> GroupSettings:
        """Return the settings of a group with its own configs."""
        return attrs.evolve(
            self,
            consumer_session_timeout_ms=group_value(config, group_configs, consumer_group.SESSION_TIMEOUT_MS),
            consumer_heartbeat_interval_ms=group_value(
                config, group_configs, consumer_group.HEARTBEAT_INTERVAL_MS
            ),
        )
