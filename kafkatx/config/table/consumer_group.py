"""The table of the configs that a group of KIP-848 may have for itself, over the settings of its broker.

The bounds are broker settings, too. They are looked at when a config is changed; a value that is beyond them
later, because they have moved, counts as the nearest that they allow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.table import groups as g
from kafkatx.config.table.row import Section, Setting, by_name
from kafkatx.errors import ErrorCode, RequestError, SettingError

HONOURED = Section(
    "Group configs", "What a group of the consumer protocol may say for itself (resource type GROUP)."
)

SESSION_TIMEOUT_MS = HONOURED.integer(
    "consumer.session.timeout.ms",
    45_000,
    "After so long without a heartbeat a member of the group is removed.",
    low=1,
    unit="ms",
)
HEARTBEAT_INTERVAL_MS = HONOURED.integer(
    "consumer.heartbeat.interval.ms",
    5000,
    "How often members of the group are told to send a heartbeat; below the session time-out.",
    low=1,
    unit="ms",
)

SETTINGS = by_name((HONOURED,))
"""The group configs by name, in the table's order."""


@attrs.frozen
class Range:
    """The broker settings about one group config: its default, its lowest and its highest value."""

    source: Setting[int]
    low: Setting[int]
    high: Setting[int]


RANGES: Mapping[str, Range] = {
    SESSION_TIMEOUT_MS.name: Range(
        g.GROUP_CONSUMER_SESSION_TIMEOUT_MS,
        g.GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS,
        g.GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS,
    ),
    HEARTBEAT_INTERVAL_MS.name: Range(
        g.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
        g.GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS,
        g.GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS,
    ),
}


def group_value(config: BrokerConfig, group_configs: Mapping[str, str], setting: Setting[int]) -> int:
    """A group's value: its own, within the bounds of today, else its broker's.

    What is stored may be of another version of kafkatx: a value that cannot be read counts as none.
    """
    bounds = RANGES[setting.name]
    text = group_configs.get(setting.name)
    if text is not None:
        try:
            value = setting.parse(text)
        except SettingError:
            return config[bounds.source]
        return max(config[bounds.low], min(value, config[bounds.high]))
    return config[bounds.source]


def check_group_configs(
    config: BrokerConfig, group_configs: Mapping[str, str], changed: Collection[str]
) -> None:
    """Check the configs that a group is to have.

    :param changed: the names of those that are new; the others stood there before.
    :raises RequestError: INVALID_CONFIG: a name is unknown, a value is not allowed, or the heartbeats would
        not come within the session time-out; the message says which, and what is allowed.
    """
    for name in changed:
        text = group_configs.get(name)
        if text is None:
            continue
        setting = SETTINGS.get(name)
        if setting is None:
            raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
        try:
            value = setting.parse(text)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
        bounds = RANGES[name]
        low, high = config[bounds.low], config[bounds.high]
        if not low <= value <= high:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"{name}={value}: the broker allows {low} ({bounds.low.name}) to {high} ({bounds.high.name})",
            )
    session = group_value(config, group_configs, SESSION_TIMEOUT_MS)
    heartbeat = group_value(config, group_configs, HEARTBEAT_INTERVAL_MS)
    if group_configs and heartbeat >= session:
        raise RequestError(
            ErrorCode.INVALID_CONFIG,
            f"{HEARTBEAT_INTERVAL_MS.name}={heartbeat} must be below {SESSION_TIMEOUT_MS.name}={session}",
        )
