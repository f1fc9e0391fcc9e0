"""Config nodes, ``{"version":1,"config":{"retention.ms":"5"}}``, and notifications of their changes. Pure.

A node of a client, user or address has quotas among its configs, a user's also the SCRAM credentials by
mechanism: ``"SCRAM-SHA-256":"salt=...,stored_key=...,server_key=...,iterations=8192"``. Others in it stay
when these change. A changed config node is announced to Apache Kafka's tools and brokers by a sequential node
``/config/changes/config_change_0000000001``: ``{"version":2,"entity_path":"topics/T"}``; up to 0.9
``{"version":1,"entity_type":"topics","entity_name":"T"}``. Sources: ConfigEntityZNode and
ConfigEntityChangeNotificationSequenceZNode of ``kafka.zk``, ``kafka.server.ZkConfigManager``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafkatx.metadata.layout.entities import ConfigEntity, parse_path
from kafkatx.metadata.layout.fields import UnreadableNode, encode, parse, quoted, quoted_bytes
from kafkatx.security.sasl.credential import MECHANISMS

VERSION = 1
_INTEGRAL_QUOTAS = frozenset({"producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"})
"""Apache Kafka reads them as whole numbers: ``1048576``, not ``1048576.0``."""
_QUOTAS = _INTEGRAL_QUOTAS | {"request_percentage", "controller_mutation_rate"}


def encode_configs(configs: Mapping[str, str]) -> bytes:
    """Return the content of a config node."""
    return encode({"version": VERSION, "config": dict(configs)})


def decode_configs(path: str, data: bytes) -> dict[str, str]:
    """Read the content of a config node; an empty node has no configs, as for Kafka.

    :raises UnreadableNode: it is not one of version 1.
    """
    if not data:
        return {}
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    return fields.text_map("config") if fields.optional_object("config") is not None else {}


def quotas(path: str, configs: Mapping[str, str]) -> dict[str, float]:
    """Return the quotas among the configs of a client, user or address.

    :raises UnreadableNode: the value of a quota is not a number.
    """
    found = {}
    for name in _QUOTAS & configs.keys():
        try:
            value = float(configs[name])
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise UnreadableNode(path, f"{quoted(name)}:{quoted(configs[name])}", "a number as text")
        found[name] = value
    return found


def with_quotas(configs: Mapping[str, str], changes: Mapping[str, float | None]) -> dict[str, str]:
    """Return the configs of a client, user or address with some quotas set, or removed for None."""
    changed = dict(configs)
    for name, value in changes.items():
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = _number(name, value)
    return changed


def credentials(configs: Mapping[str, str]) -> dict[str, str]:
    """Return the SCRAM credentials among the configs of a user, by mechanism."""
    return {name: configs[name] for name in MECHANISMS if name in configs}


def with_credentials(configs: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the configs of a user with some credentials set, or removed for None."""
    changed = {name: text for name, text in configs.items() if name not in changes}
    return {**changed, **{name: text for name, text in changes.items() if text is not None}}


def encode_notification(entity: ConfigEntity) -> bytes:
    """Return the content of the notification of a changed config node."""
    return encode({"version": 2, "entity_path": entity.path})


def decode_notification(path: str, data: bytes) -> ConfigEntity:
    """Return the entity of a notification.

    :raises UnreadableNode: it is not one of version 1 or 2, or names no entity.
    """
    fields = parse(path, data)
    if fields.version(1, 2) == 1:
        parent = fields.text("entity_type")
        entity_path = f"{parent}/{fields.text('entity_name')}" if parent in ("topics", "clients") else parent
    else:
        entity_path = fields.text("entity_path")
    entity = parse_path(entity_path)
    if entity is None:
        raise UnreadableNode(path, quoted_bytes(data), "a topic, broker, client, user, address or group")
    return entity


def _number(name: str, value: float) -> str:
    if name in _INTEGRAL_QUOTAS and math.isfinite(value) and value == int(value):
        return str(int(value))
    return repr(float(value))
