"""The settings of topics and brokers: what is asked and changed, and what the answers say."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
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

_SET, _DELETE = 0, 1
_E = TypeVar("_E", bound=enum.IntEnum)


class ResourceType(enum.IntEnum):
    """What has settings, by Kafka's number."""

    TOPIC = 2
    BROKER = 4


@attrs.frozen
class Resource:
    """A topic by name, or a broker by id; a broker without a name stands for the defaults of all brokers."""

    type: ResourceType
    name: str

    @property
    def broker_id(self) -> int | None:
        """The one broker that knows these settings; what is the cluster's, any broker knows."""
        return int(self.name) if self.type is ResourceType.BROKER and self.name.isdecimal() else None

    def __str__(self) -> str:
        if self.type is ResourceType.BROKER:
            return f"broker {self.name}" if self.name else "the defaults of all brokers"
        return f"topic {self.name!r}"


class Source(enum.IntEnum):
    """Where a setting's value comes from, nearest first, by Kafka's number (KIP-226)."""

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
    """What a setting's value is, by Kafka's number (KIP-569)."""

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
    """A setting that gives the value where no nearer one is set."""

    name: str
    value: str | None
    source: Source


@attrs.frozen
class ConfigEntry:
    """One setting. The value of a sensitive one is never told: it is None.

    ``overridden`` says that it was set for this very topic.
    """

    name: str
    value: str | None
    source: Source = Source.UNKNOWN
    read_only: bool = False
    sensitive: bool = False
    type: ConfigType = ConfigType.UNKNOWN
    synonyms: tuple[Synonym, ...] = ()

    @property
    def overridden(self) -> bool:
        """Whether it was set for this very topic."""
        return self.source is Source.TOPIC


def describe_request(resource: Resource, synonyms: bool) -> DescribeConfigsRequest:
    """The request for every setting of a topic or broker."""
    asked = DescribeConfigsResource(resource.type, resource.name, configuration_keys=None)
    return DescribeConfigsRequest([asked], include_synonyms=synonyms)


def entries(response: DescribeConfigsResponse, resource: Resource, version: int) -> dict[str, ConfigEntry]:
    """The settings by name, in order.

    :param version: that of the response.
    :raises UnknownTopic: there is no such topic.
    :raises RequestError: any other reason.
    """
    found: dict[str, ConfigEntry] = {}
    for result in response.results:
        _check(resource, result.error_code, result.error_message)
        for entry in result.configs:
            found[entry.name] = _entry(entry, resource.type, version)
    return dict(sorted(found.items()))


def alter_request(
    resource: Resource, values: Mapping[str, str], deleted: Collection[str], validate_only: bool
) -> IncrementalAlterConfigsRequest:
    """The request that sets *values* and takes *deleted* back to what they would be."""
    changes = [AlterableConfig(name, _SET, value) for name, value in values.items()]
    changes += [AlterableConfig(name, _DELETE, None) for name in deleted]
    altered = AlterConfigsResource(resource.type, resource.name, changes)
    return IncrementalAlterConfigsRequest([altered], validate_only)


def check_altered(response: IncrementalAlterConfigsResponse, resource: Resource) -> None:
    """Raise what the change was refused with.

    :raises UnknownTopic: there is no such topic.
    :raises RequestError: any other reason.
    """
    for result in response.responses:
        _check(resource, result.error_code, result.error_message)


def _check(resource: Resource, error_code: int, message: str | None) -> None:
    """Raise a result's error; that a topic is not there will not pass."""
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
    """Version 0 tells only whether it is the default."""
    if version > 0:
        return _known(Source, entry.config_source)
    if entry.is_default:
        return Source.DEFAULT
    return Source.TOPIC if resource_type is ResourceType.TOPIC else Source.STATIC


def _known(numbers: type[_E], number: int) -> _E:
    """The member with this number; one that is newer than these tables is UNKNOWN."""
    return numbers(number) if number in numbers._value2member_map_ else numbers(0)
