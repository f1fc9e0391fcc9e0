"""Entities that have configs, and the paths of their nodes, such as ``/config/users/U/clients/C``. Pure.

| entity | path below ``/config`` |
|---|---|
| topic | ``topics/T`` |
| broker; default of all brokers | ``brokers/1``; ``brokers/<default>`` |
| client id | ``clients/C``; ``clients/<default>`` |
| user, or a user's client id | ``users/U``; ``users/U/clients/C``, where both may be ``<default>`` |
| address | ``ips/I``; ``ips/<default>`` |
| group (kafkatx only; Apache Kafka has group configs since 4.0, in KRaft) | ``groups/G`` |
| subscription to metrics of clients (kafkatx only; Apache Kafka has them in KRaft) | ``client-metrics/S`` |

Names of clients, users, addresses, groups and subscriptions are URL-encoded as
``org.apache.kafka.common.utils.Sanitizer`` does.
"""

from __future__ import annotations

import enum
import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import ALL_BROKERS, QuotaEntity

DEFAULT: Final = "<default>"
"""Name of the node for entities without one of their own. An entity so named is ``%3Cdefault%3E``."""

_SANITIZED = re.compile(r"(?:[^%/]|%[0-9A-Fa-f]{2})+")
_NUMBER = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)


class EntityType(enum.Enum):
    """A type of entities, with the name of their parent below ``/config``."""

    TOPIC = "topics"
    BROKER = "brokers"
    CLIENT = "clients"
    USER = "users"
    """A user, or a client id of a user."""
    IP = "ips"
    GROUP = "groups"
    CLIENT_METRICS = "client-metrics"


@attrs.frozen
class ConfigEntity:
    """An entity that has configs.

    :ivar name: of a topic, group or subscription, or a broker's id as text, ``types.ALL_BROKERS`` for the
        defaults of all brokers; "" for the others.
    :ivar quota: for clients, users and addresses: the entity of their quotas; else empty.
    """

    type: EntityType
    name: str = ""
    quota: QuotaEntity = ()

    @property
    def path(self) -> str:
        """The path of its node below ``/config``.

        :raises RequestError: INVALID_REQUEST: the entity has no node in Kafka's layout.
        """
        if self.type in (EntityType.TOPIC, EntityType.BROKER):
            return f"{self.type.value}/{DEFAULT if self.name == ALL_BROKERS else self.name}"
        if self.type in (EntityType.GROUP, EntityType.CLIENT_METRICS):
            return f"{self.type.value}/{sanitize(self.name)}"
        names = [DEFAULT if name is None else sanitize(name) for _, name in self.quota]
        if len(names) == 2:
            client_id, user = names
            return f"users/{user}/clients/{client_id}"
        return f"{self.type.value}/{names[0]}"

    @property
    def user(self) -> str | None:
        """The name, if it is a user, not the default of users nor a client id of one; else None."""
        return self.quota[0][1] if self.type is EntityType.USER and len(self.quota) == 1 else None

    @property
    def notifies(self) -> bool:
        """True if changes are announced below ``/config/changes``.

        Apache Kafka 3.9 rejects groups and subscriptions.
        """
        return self.type not in (EntityType.GROUP, EntityType.CLIENT_METRICS)


def topic(name: str) -> ConfigEntity:
    """Return the entity of a topic."""
    return ConfigEntity(EntityType.TOPIC, name)


def broker(name: str) -> ConfigEntity:
    """Return the entity of a broker: its id as text, or ``types.ALL_BROKERS``."""
    return ConfigEntity(EntityType.BROKER, name)


def group(group_id: str) -> ConfigEntity:
    """Return the entity of a group."""
    return ConfigEntity(EntityType.GROUP, group_id)


def client_metrics(subscription: str) -> ConfigEntity:
    """Return the entity of a subscription to metrics of clients."""
    return ConfigEntity(EntityType.CLIENT_METRICS, subscription)


def quota(entity: QuotaEntity) -> ConfigEntity:
    """Return the entity of quotas.

    :raises RequestError: INVALID_REQUEST: Kafka has no quotas for these types together.
    """
    types = tuple(sorted(type_ for type_, _ in entity))
    found = _QUOTA_TYPES.get(types)
    if found is None:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"There are no quotas for the entity types {', '.join(types) or 'none'}.",
        )
    return ConfigEntity(found, quota=tuple(sorted(entity, key=_type)))


def parse_path(path: str) -> ConfigEntity | None:
    """Return the entity of a path below ``/config``, as ``topics/T``; None if it is not one."""
    match path.split("/"):
        case ["topics", name] if name:
            return topic(name)
        case ["brokers", name] if name == DEFAULT or _NUMBER.fullmatch(name):
            return broker(ALL_BROKERS if name == DEFAULT else name)
        case ["groups", name] if (group_id := desanitize(name)) is not None:
            return group(group_id)
        case ["client-metrics", name] if (subscription := desanitize(name)) is not None:
            return client_metrics(subscription)
        case ["clients" | "users" | "ips" as parent, name]:
            return _quota((_TYPES[parent], name))
        case ["users", user, "clients", client_id]:
            return _quota(("client-id", client_id), ("user", user))
    return None


def sanitize(name: str) -> str:
    """Return a name that is safe in a path, as Kafka's Sanitizer does: letters, digits and ``-._`` stay.

    :raises RequestError: INVALID_REQUEST: the name is empty, ``.`` or ``..``, which no node can have.
    """
    if name in ("", ".", ".."):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"The name {name!r} cannot have configs or quotas.")
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str | None:
    """Return the name that :func:`sanitize` made safe; None if it is no such text."""
    if not _SANITIZED.fullmatch(name):
        return None
    try:
        return unquote_to_bytes(name.replace("+", " ")).decode("utf-8")
    except UnicodeDecodeError:
        return None


_TYPES = {"clients": "client-id", "users": "user", "ips": "ip"}
_QUOTA_TYPES = {
    ("client-id",): EntityType.CLIENT,
    ("user",): EntityType.USER,
    ("client-id", "user"): EntityType.USER,
    ("ip",): EntityType.IP,
}


def _type(pair: tuple[str, str | None]) -> str:
    return pair[0]


def _quota(*pairs: tuple[str, str]) -> ConfigEntity | None:
    entity = []
    for type_, text in pairs:
        name = None if text == DEFAULT else desanitize(text)
        if name is None and text != DEFAULT:
            return None
        entity.append((type_, name))
    return quota(tuple(entity))
