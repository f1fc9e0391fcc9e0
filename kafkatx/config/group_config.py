"""Group configs over the broker's settings: the value that a group has, and those that it may have. Pure.

The bounds are broker settings, too. They are checked when a config is changed. If the bounds change later, a
value beyond them counts as the nearest value that they allow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.table import groups as g
from kafkatx.config.table.consumer_group import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, SETTINGS
from kafkatx.config.table.row import Setting
from kafkatx.errors import ErrorCode, RequestError, SettingError


@attrs.frozen
class Range:
    """The broker settings for one group config: its default, its lowest and its highest value."""

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
    """Return a group's own value, within the current bounds, or else the broker's.

    A stored value may come from another version of kafkatx: one that cannot be parsed is ignored.
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
    """Check new configs of a group.

    :param changed: the names of the configs that change.
    :raises RequestError: INVALID_CONFIG: a name is unknown, a value is not allowed, or the heartbeat interval
        is not below the session time-out; the message names the config and the allowed values.
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
