"""DescribeConfigs and IncrementalAlterConfigs: requests, and values from replies. Pure."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeVar

import attrs

from kafkatx.clientcore.errors import UnknownTopic, check
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_E = TypeVar("_E", bound=enum.IntEnum)


class ResourceType(enum.IntEnum):
    """The type of a resource with configs, by Kafka's number."""

    TOPIC = 2
    BROKER = 4
    CLIENT_METRICS = 16


@attrs.frozen
class Resource:
    """A topic or a subscription to metrics of clients by name, or a broker by id.

    A broker with an empty name is the defaults of all brokers.
    """

    type: ResourceType
    name: str

    @property
    def broker_id(self) -> int | None:
        """The broker that has to be asked for these configs; None: any broker."""
        return int(self.name) if self.type is ResourceType.BROKER and self.name.isdecimal() else None

    def __str__(self) -> str:
        if self.type is ResourceType.BROKER:
            return f"broker {self.name}" if self.name else "the defaults of all brokers"
        if self.type is ResourceType.CLIENT_METRICS:
            return f"subscription {self.name!r}"
        return f"topic {self.name!r}"


class Source(enum.IntEnum):
    """The origin of a config's value, in order of precedence, by Kafka's number (KIP-226)."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    BROKER_DEFAULTS = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigType(enum.IntEnum):
    """The type of a config's value, by Kafka's number (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@attrs.frozen
class Synonym:
    """A config that supplies the value if none of higher precedence is set."""

    name: str
    value: str | None
    source: Source


@attrs.frozen
class ConfigEntry:
    """One config. The value of a sensitive one is always None."""

    name: str
    value: str | None
    source: Source = Source.UNKNOWN
    read_only: bool = False
    sensitive: bool = False
    type: ConfigType = ConfigType.UNKNOWN
    synonyms: tuple[Synonym, ...] = ()

    @property
    def overridden(self) -> bool:
        """True if it was set for the topic itself."""
        return self.source is Source.TOPIC


def describe_request(resource: Resource, synonyms: bool) -> DescribeConfigsRequest:
    """Return the request for all configs of a topic or broker."""
    asked = DescribeConfigsResource(resource.type, resource.name, configuration_keys=None)
    return DescribeConfigsRequest([asked], include_synonyms=synonyms)


def value_request(name: str, topics: Collection[str]) -> DescribeConfigsRequest:
    """Return the request for one config of several topics."""
    return DescribeConfigsRequest(
        [DescribeConfigsResource(ResourceType.TOPIC, topic, configuration_keys=[name]) for topic in topics]
    )


def values(response: DescribeConfigsResponse, name: str) -> dict[str, str]:
    """Return the value of one config by topic; topics whose configs are not shown are left out."""
    return {
        result.resource_name: entry.value
        for result in response.results
        if not result.error_code
        for entry in result.configs
        if entry.name == name and entry.value is not None
    }


def entries(response: DescribeConfigsResponse, resource: Resource, version: int) -> dict[str, ConfigEntry]:
    """Return the configs by name, in order.

    :param version: the version of the response.
    :raises UnknownTopic: there is no such topic.
    :raises RequestError: any other error.
    """
    found: dict[str, ConfigEntry] = {}
    for result in response.results:
        _check(resource, result.error_code, result.error_message)
        for entry in result.configs:
            found[entry.name] = _entry(entry, resource.type, version)
    return dict(sorted(found.items()))


def alter_request(
    resource: Resource,
    values: Mapping[str, str],
    deleted: Collection[str],
    validate_only: bool,
    appended: Mapping[str, str] = MappingProxyType({}),
    subtracted: Mapping[str, str] = MappingProxyType({}),
) -> IncrementalAlterConfigsRequest:
    """Return the request that sets *values* and resets *deleted* to their defaults.

    :param appended: what to append to lists, separated by commas; *subtracted* what to remove from them.
    """
    changes = [AlterableConfig(name, _SET, value) for name, value in values.items()]
    changes += [AlterableConfig(name, _DELETE, None) for name in deleted]
    changes += [AlterableConfig(name, _APPEND, value) for name, value in appended.items()]
    changes += [AlterableConfig(name, _SUBTRACT, value) for name, value in subtracted.items()]
    altered = AlterConfigsResource(resource.type, resource.name, changes)
    return IncrementalAlterConfigsRequest([altered], validate_only)


def check_altered(response: IncrementalAlterConfigsResponse, resource: Resource) -> None:
    """Raise the error of a reply, if any.

    :raises UnknownTopic: there is no such topic.
    :raises RequestError: any other error.
    """
    for result in response.responses:
        _check(resource, result.error_code, result.error_message)


def _check(resource: Resource, error_code: int, message: str | None) -> None:
    """Raise the error of one result, if any; for a topic that does not exist one that is not retriable."""
    if resource.type is ResourceType.TOPIC and error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownTopic(resource.name, advice="")
    check(error_code, f"settings of {resource}", message)


def _entry(entry: DescribeConfigsResourceResult, resource_type: ResourceType, version: int) -> ConfigEntry:
    return ConfigEntry(
        entry.name,
        entry.value,
        _source(entry, resource_type, version),
        entry.read_only,
        entry.is_sensitive,
        _known(ConfigType, entry.config_type),
        tuple(Synonym(s.name, s.value, _known(Source, s.source)) for s in entry.synonyms),
    )


def _source(entry: DescribeConfigsResourceResult, resource_type: ResourceType, version: int) -> Source:
    """Return the origin of a value; version 0 tells only whether it is the default."""
    if version > 0:
        return _known(Source, entry.config_source)
    if entry.is_default:
        return Source.DEFAULT
    return Source.TOPIC if resource_type is ResourceType.TOPIC else Source.STATIC


def _known(numbers: type[_E], number: int) -> _E:
    """Return the member with this number, or UNKNOWN for a newer one."""
    return numbers(number) if number in numbers._value2member_map_ else numbers(0)
