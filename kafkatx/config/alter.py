"""Changes of configs in client requests: their results, and the checks of these. Pure.

AlterConfigs (KIP-133) replaces all configs of a topic or broker. IncrementalAlterConfigs (KIP-339) makes
single changes; APPEND and SUBTRACT are for lists only.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafkatx.config.broker_config import nearest
from kafkatx.config.listeners import override
from kafkatx.config.table import broker, kafka_only
from kafkatx.config.table.mirror.names import check_link_setting, link_row
from kafkatx.config.table.mirror.rows import PREFIX
from kafkatx.config.table.row import ConfigType, Setting, format_value
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.types import ALL_BROKERS


class Operation(enum.IntEnum):
    """An operation on a config, as IncrementalAlterConfigs numbers it."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """One change of one config; a DELETE has no value."""

    name: str
    operation: Operation
    value: str | None


def altered(
    old: Mapping[str, str],
    alterations: Iterable[Alteration],
    row: Callable[[str], Setting[object] | None],
    in_effect: Callable[[Setting[object]], object],
) -> dict[str, str]:
    """Return the configs after some alterations. The values are not checked.

    :param row: returns the row of a config's name; None if there is no such config.
    :param in_effect: returns a setting's current value; APPEND and SUBTRACT use it if the list is not set.
    :raises RequestError: INVALID_REQUEST: a value is missing; INVALID_CONFIG: APPEND or SUBTRACT to a config
        that is not a list.
    """
    new = dict(old)
    for name, operation, value in alterations:
        if operation is Operation.DELETE:
            new.pop(name, None)
        elif value is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for: {name}")
        elif operation is Operation.SET or (setting := row(name)) is None:
            new[name] = value
        else:
            if setting.type is not ConfigType.LIST:
                raise RequestError(
                    ErrorCode.INVALID_CONFIG,
                    f"Can't {operation.name} to config {name}: its type is {setting.type.name}, not LIST",
                )
            current = new[name] if name in new else format_value(in_effect(setting)) or ""
            new[name] = ",".join(_edited(_items(current), operation, _items(value)))
    return new


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text.strip() else []


def _edited(current: list[str], operation: Operation, items: list[str]) -> list[str]:
    if operation is Operation.SUBTRACT:
        return [item for item in current if item not in items]
    return current + [item for item in dict.fromkeys(items) if item not in current]


def broker_row(name: str) -> Setting[object] | None:
    """Return the row of a setting of brokers; None if there is none, as for an alias."""
    return broker.SETTINGS.get(name) or link_row(name)


def check_broker_configs(configs: Mapping[str, str], whose: str = ALL_BROKERS) -> None:
    """Check the dynamic settings of a broker.

    :param whose: the id of a broker as text, or ``types.ALL_BROKERS``.
    :raises RequestError: INVALID_REQUEST, as in Apache Kafka: a setting is unknown, is not dynamic, or has a
        value that is not allowed; the message names it and the allowed values.
    """
    fixed = [n for n in configs if n in _ALIASES or (n in broker.SETTINGS and not broker.SETTINGS[n].dynamic)]
    if fixed:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({', '.join(fixed)})"
        )
    of_links = [name for name in configs if name.startswith(PREFIX)]
    if of_links and whose != ALL_BROKERS:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"{of_links[0]}: all brokers need the same links: set it for all brokers, not for broker {whose}",
        )
    for name, value in configs.items():
        try:
            _check_dynamic(name, value)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_REQUEST, str(error)) from None


def usable_broker_configs(configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the stored settings that this version can use, and an error message for each of the others."""
    usable, complaints = {}, []
    for name, value in configs.items():
        try:
            _check_dynamic(name, value)
        except SettingError as error:
            complaints.append(str(error))
        else:
            usable[name] = value
    return usable, complaints


_ALIASES = frozenset(alias for setting in broker.SETTINGS.values() for alias in setting.aliases)


def _check_dynamic(name: str, value: str) -> None:
    """Check the value of a dynamic setting.

    :raises SettingError: the setting is unknown, is not dynamic, or the value is not allowed.
    """
    setting = broker_row(name) or override(name)
    if setting is None and name.startswith(PREFIX):
        check_link_setting(name)
    if setting is None and kafka_only.is_kafka_only(name):
        raise SettingError(f"{name}: only Apache Kafka has this setting; kafkatx would not act on it")
    if setting is None:
        raise SettingError(f"{name}: unknown setting{nearest(name, broker.SETTINGS)}")
    if not setting.dynamic:
        raise SettingError(f"{name}={setting.shown(value)}: this setting cannot change while the broker runs")
    setting.parse(value)
