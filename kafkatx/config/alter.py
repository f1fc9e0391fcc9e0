"""Changes of configs that clients ask for: what comes of them, and whether it is allowed.

AlterConfigs (KIP-133) gives all configs that a topic or broker shall have. IncrementalAlterConfigs (KIP-339)
gives single changes, of which APPEND and SUBTRACT are for lists only.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kafkatx.config.broker_config import nearest
from kafkatx.config.table import broker, kafka_only
from kafkatx.config.table.row import ConfigType, Setting, format_value
from kafkatx.errors import ErrorCode, RequestError, SettingError


class Operation(enum.IntEnum):
    """What to do with a config, as IncrementalAlterConfigs numbers it."""

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
    settings: Mapping[str, Setting[Any]],
    in_effect: Callable[[Setting[Any]], Any],
) -> dict[str, str]:
    """What comes of alterations; whether the values are allowed is not looked at.

    :param settings: the table that the names are of.
    :param in_effect: the value that a setting has now. A list that is not set begins with it.
    :raises RequestError: INVALID_REQUEST: a value is missing; INVALID_CONFIG: there is no list to append to.
    """
    new = dict(old)
    for name, operation, value in alterations:
        if operation is Operation.DELETE:
            new.pop(name, None)
        elif value is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for: {name}")
        elif operation is Operation.SET or name not in settings:
            new[name] = value
        else:
            setting = settings[name]
            if setting.type is not ConfigType.LIST:
                raise RequestError(
                    ErrorCode.INVALID_CONFIG,
                    f"Can't {operation.name} to config {name}: its type is {setting.type.name}, not LIST",
                )
            there = new[name] if name in new else format_value(in_effect(setting)) or ""
            new[name] = ",".join(_edited(_items(there), operation, _items(value)))
    return new


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text.strip() else []


def _edited(there: list[str], operation: Operation, items: list[str]) -> list[str]:
    if operation is Operation.SUBTRACT:
        return [item for item in there if item not in items]
    return there + [item for item in dict.fromkeys(items) if item not in there]


def check_broker_configs(configs: Mapping[str, str]) -> None:
    """Check the settings that a broker shall have while it runs.

    :raises RequestError: INVALID_REQUEST, as Apache Kafka's: one is unknown, cannot change while the broker
        runs, or has a value that is not allowed; the message says which, and what is allowed.
    """
    fixed = [n for n in configs if n in _ALIASES or (n in broker.SETTINGS and not broker.SETTINGS[n].dynamic)]
    if fixed:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({', '.join(fixed)})"
        )
    for name, value in configs.items():
        try:
            _check_dynamic(name, value)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_REQUEST, str(error)) from None


def usable_broker_configs(configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Those of the stored settings that this version can use, and what is wrong with each of the others."""
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
    """See whether a setting may have a value while the broker runs.

    :raises SettingError: it may not.
    """
    setting = broker.SETTINGS.get(name)
    if setting is None and kafka_only.is_kafka_only(name):
        raise SettingError(f"{name}: only Apache Kafka has this setting; kafkatx would not act on it")
    if setting is None:
        raise SettingError(f"{name}: unknown setting{nearest(name, broker.SETTINGS)}")
    if not setting.dynamic:
        raise SettingError(f"{name}={value}: this setting cannot change while the broker runs")
    setting.parse(value)
