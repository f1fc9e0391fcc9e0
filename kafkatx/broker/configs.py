"""Changes of configs, for AlterConfigs and IncrementalAlterConfigs. They change the cluster's metadata."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.telemetry.subscriptions import check as check_subscription
from kafkatx.config import topic_value, validate_topic_configs
from kafkatx.config.alter import Alteration, altered, broker_row, check_broker_configs
from kafkatx.config.group_config import check_group_configs
from kafkatx.config.table import consumer_group as group_table
from kafkatx.config.table import topic as topic_table
from kafkatx.config.table.row import Setting
from kafkatx.config.telemetry import client_metrics_config
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange
from kafkatx.types import ALL_BROKERS

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""The types of resources with configs."""

MOST_GROUPS = 10_000
"""The most groups that may have configs of their own: any client can give any group some."""

MOST_SUBSCRIPTIONS = 1000
"""The most subscriptions to metrics of clients: each new client is compared with all of them."""

_log = Logger()


async def replace(
    broker: Broker, kind: int, name: str, configs: Mapping[str, str | None], validate_only: bool
) -> None:
    """Replace all configs of a resource (AlterConfigs).

    :raises RequestError: the configs are invalid; nothing is changed then.
    """
    for config, value in configs.items():
        if value is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for: {config}")
    given = {config: value for config, value in configs.items() if value is not None}
    brokers_own = topic_table.WRITTEN_BY_BROKERS if kind == TOPIC else ()

    def change(old: Mapping[str, str]) -> Mapping[str, str]:
        return {**{config: old[config] for config in brokers_own if config in old}, **given}

    await _alter(broker, kind, name, given.keys(), change, validate_only)


async def alter(
    broker: Broker, kind: int, name: str, alterations: Sequence[Alteration], validate_only: bool
) -> None:
    """Change some configs of a resource (IncrementalAlterConfigs).

    :raises RequestError: one of the changes is invalid; nothing is changed then.
    """
    config = broker.config
    row = _ROWS.get(kind, broker_row)
    if kind == BROKER and name == ALL_BROKERS:
        _own, brokers, _static = config.layers
        config = config.with_dynamic(brokers, {})

    def in_effect(setting: Setting[object]) -> Any:
        if kind == CLIENT_METRICS:
            return setting.default
        return topic_value(config, {}, setting) if kind == TOPIC else config[setting]

    def change(old: Mapping[str, str]) -> Mapping[str, str]:
        return altered(old, alterations, row, in_effect)

    await _alter(broker, kind, name, {one.name for one in alterations}, change, validate_only)


def _alter(
    broker: Broker, kind: int, name: str, names: Collection[str], change: ConfigChange, validate_only: bool
) -> Awaitable[None]:
    """Check a change of the configs *names*, and make it."""
    if kind == TOPIC:
        return _alter_topic(broker, name, names, change, validate_only)
    if kind == BROKER:
        return _alter_broker(broker, name, names, change, validate_only)
    if kind == GROUP:
        return _alter_group(broker, name, names, change, validate_only)
    if kind == CLIENT_METRICS:
        return _alter_client_metrics(broker, name, names, change, validate_only)
    raise not_offered(kind)


async def _alter_topic(
    broker: Broker, name: str, names: Collection[str], change: ConfigChange, validate_only: bool
) -> None:
    topic = broker.metadata.state.topics.get(name)
    if topic is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
    for config in topic_table.WRITTEN_BY_BROKERS:
        if config in names:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"{config} cannot be changed: brokers write it for the topics of a link",
            )

    def checked(old: Mapping[str, str]) -> Mapping[str, str]:
        new = change(old)
        validate_topic_configs({config: new[config] for config in names if config in new})
        return new

    broker.topic_commands.check_configs(checked(topic.configs))
    if not validate_only:
        await broker.topic_commands.alter_configs(name, checked)
        _log.info("changed configs of topic {topic}: {names}", topic=name, names=_listed(names))


async def _alter_broker(
    broker: Broker, name: str, names: Collection[str], change: ConfigChange, validate_only: bool
) -> None:
    check_broker_name(broker, name)

    def checked(old: Mapping[str, str]) -> Mapping[str, str]:
        new = change(old)
        check_broker_configs({config: new[config] for config in names if config in new}, name)
        return new

    new = checked(broker.metadata.state.broker_configs.get(name, {}))
    if any("ssl." in config for config in names):
        try:
            await broker.check_dynamic(name, new)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
    if not validate_only:
        await broker.metadata.alter_broker_configs(name, checked)
        whose = f"broker {name}" if name else "all brokers"
        _log.info("changed settings of {whose}: {names}", whose=whose, names=_listed(names))


async def _alter_group(
    broker: Broker, name: str, names: Collection[str], change: ConfigChange, validate_only: bool
) -> None:
    check_group_name(name)
    config, known = broker.config, broker.metadata.state.group_configs
    if name not in known and len(known) >= MOST_GROUPS:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"{MOST_GROUPS} groups have configs of their own; remove those of others first",
        )

    def checked(old: Mapping[str, str]) -> Mapping[str, str]:
        new = change(old)
        check_group_configs(config, new, names)
        return new

    checked(known.get(name, {}))
    if not validate_only:
        await broker.metadata.alter_group_configs(name, checked)
        _log.info("changed configs of group {group}: {names}", group=quoted(name), names=_listed(names))


async def _alter_client_metrics(
    broker: Broker, name: str, names: Collection[str], change: ConfigChange, validate_only: bool
) -> None:
    known = broker.metadata.state.client_metrics_configs
    if name not in known and len(known) >= MOST_SUBSCRIPTIONS:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION, f"there are {MOST_SUBSCRIPTIONS} subscriptions; remove others first"
        )

    def checked(old: Mapping[str, str]) -> Mapping[str, str]:
        new = change(old)
        check_subscription(name, new)
        return new

    checked(known.get(name, {}))
    if not validate_only:
        await broker.metadata.alter_client_metrics_configs(name, checked)
        _log.info(
            "changed subscription {name} to metrics of clients: {names}",
            name=quoted(name),
            names=_listed(names),
        )


def _listed(names: Collection[str]) -> str:
    return quoted(", ".join(sorted(names)))


def check_broker_name(broker: Broker, name: str) -> None:
    """Check that a resource is this broker, or all brokers: each broker knows its own settings only.

    :raises RequestError: INVALID_REQUEST: it is another; clients send the request to that broker.
    """
    if name not in (ALL_BROKERS, str(broker.node_id)):
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.node_id} or empty string, but received {name}",
        )


def check_group_name(name: str) -> None:
    """Check that a resource of type GROUP names a group; there are no defaults of all groups.

    :raises RequestError: INVALID_REQUEST: it does not.
    """
    if not name:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, "the group's name is empty: there are no defaults of groups"
        )


_ROWS: Mapping[int, Callable[[str], Setting[object] | None]] = {
    TOPIC: topic_table.ALL_SETTINGS.get,
    BROKER: broker_row,
    GROUP: group_table.SETTINGS.get,
    CLIENT_METRICS: client_metrics_config.SETTINGS.get,
}


def not_offered(kind: int) -> RequestError:
    """Return the error for a type of resource without configs."""
    if kind == BROKER_LOGGER:
        why = "resource type 8: kafkatx has no loggers whose levels could be changed; it logs by Twisted's"
    else:
        why = (
            f"Unknown resource type {kind}: only topics (2), brokers (4), client metrics (16) and groups (32)"
            " have configs"
        )
    return RequestError(ErrorCode.INVALID_REQUEST, why)
