"""The entries of DescribeConfigs (KIP-133, KIP-226): value, source and synonyms of every config. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.group_config import RANGES, group_value
from kafkatx.config.table import consumer_group, topic
from kafkatx.config.table.broker import MIN_INSYNC_REPLICAS
from kafkatx.config.table.row import ConfigType, Setting, format_value
from kafkatx.config.telemetry import client_metrics_config
from kafkatx.config.topic_config import DEFAULT_FROM, topic_value


class ConfigSource(enum.IntEnum):
    """The source of a value, as DescribeConfigs numbers it."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


_LAYERS = (ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER, ConfigSource.STATIC_BROKER)
"""The source of each of ``BrokerConfig.layers``."""


class Synonym(NamedTuple):
    """A name that can set a config, with its current value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One config of a topic or of a broker."""

    name: str
    value: str | None
    read_only: bool
    is_default: bool
    source: ConfigSource
    sensitive: bool
    type: ConfigType
    documentation: str
    synonyms: tuple[Synonym, ...]
    """In the order of precedence; each value is in the unit of its own name (log.retention.hours: hours)."""


def describe_topic(config: BrokerConfig, topic_configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Return every honoured topic config, and the other configs that the topic has.

    :raises SettingError: a value of the topic is not allowed.
    """
    own, known = topic.WRITTEN_BY_BROKERS, {**topic.ALL_SETTINGS, **topic.WRITTEN_BY_BROKERS}
    kept = [known[name] for name in topic_configs if name in known]
    settings = {setting.name: setting for setting in (*topic.SETTINGS.values(), *kept)}
    return [
        _entry(
            setting,
            topic_value(config, topic_configs, setting),
            _of_topic(config, topic_configs, setting),
            read_only=setting.name in own,
        )
        for setting in settings.values()
    ]


def describe_group(config: BrokerConfig, group_configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Return every config of a group of the consumer protocol; the group need not exist."""
    return [
        _entry(
            setting,
            group_value(config, group_configs, setting),
            _of_group(config, group_configs, setting),
            read_only=False,
        )
        for setting in consumer_group.SETTINGS.values()
    ]


def describe_client_metrics(configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Return every config of a subscription to metrics of clients; it need not exist."""
    entries = []
    for setting in client_metrics_config.SETTINGS.values():
        own = configs.get(setting.name)
        synonyms = [Synonym(setting.name, format_value(setting.default), ConfigSource.DEFAULT)]
        if own is not None:
            synonyms.insert(0, Synonym(setting.name, own, ConfigSource.DYNAMIC_CLIENT_METRICS))
        value = setting.default if own is None else setting.parse(own)
        entries.append(_entry(setting, value, synonyms, read_only=False))
    return entries


def describe_all_brokers(config: BrokerConfig) -> list[ConfigEntry]:
    """Return the dynamic settings of all brokers, without those of single brokers."""
    entries = []
    for setting in config.rows():
        synonyms = [s for s in _of_broker(config, setting) if s.source is ConfigSource.DYNAMIC_DEFAULT_BROKER]
        if synonyms:
            entries.append(_entry(setting, setting.parse(synonyms[0].value or ""), synonyms, read_only=False))
    return entries


def describe_broker(config: BrokerConfig) -> list[ConfigEntry]:
    """Return every broker setting that is honoured."""
    return [
        _entry(setting, config[setting], _of_broker(config, setting), read_only=not setting.dynamic)
        for setting in config.rows()
    ]


def _entry(setting: Setting[object], value: object, synonyms: list[Synonym], read_only: bool) -> ConfigEntry:
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    sensitive = setting.type is ConfigType.PASSWORD
    if sensitive:
        value, synonyms = None, [synonym._replace(value=None) for synonym in synonyms]
    return ConfigEntry(
        name=setting.name,
        value=format_value(value),
        read_only=read_only,
        is_default=source is ConfigSource.DEFAULT,
        source=source,
        sensitive=sensitive,
        type=setting.type,
        documentation=setting.doc,
        synonyms=tuple(synonyms),
    )


def _of_topic(
    config: BrokerConfig, topic_configs: Mapping[str, str], setting: Setting[object]
) -> list[Synonym]:
    synonyms = [
        Synonym(name, topic_configs[name], ConfigSource.DYNAMIC_TOPIC)
        for name in (setting.name, *setting.aliases)
        if name in topic_configs
    ]
    for source in DEFAULT_FROM.get(setting.name, ()):
        synonyms += _set(config, source)
    synonyms.append(_default_of_topic(setting))
    return synonyms


def _set(config: BrokerConfig, setting: Setting[object]) -> list[Synonym]:
    """Return the values that are set, in the order of precedence.

    min.insync.replicas is always set for all brokers: Apache Kafka writes its value there as soon as replicas
    that are not in sync may be eligible as leaders (KIP-966), as they are here.
    """
    synonyms = [
        Synonym(name, format_value(value), _LAYERS[number])
        for number, name, value in config.values_set(setting)
    ]
    dynamic = ConfigSource.DYNAMIC_DEFAULT_BROKER
    if setting is MIN_INSYNC_REPLICAS and dynamic not in (one.source for one in synonyms):
        static = [one.value for one in synonyms if one.source is ConfigSource.STATIC_BROKER]
        value = static[0] if static else format_value(setting.default)
        synonyms.append(Synonym(setting.name, value, dynamic))
        synonyms.sort(key=lambda one: one.source)
    return synonyms


def _default_of_topic(setting: Setting[object]) -> Synonym:
    """Return the default, under the broker setting that has it (log.retention.hours for retention.ms)."""
    for source in DEFAULT_FROM.get(setting.name, ()):
        if source.default is not None and source.scaled(source.default) == setting.default:
            return Synonym(source.name, format_value(source.default), ConfigSource.DEFAULT)
    return Synonym(setting.name, format_value(setting.default), ConfigSource.DEFAULT)


def _of_group(
    config: BrokerConfig, group_configs: Mapping[str, str], setting: Setting[object]
) -> list[Synonym]:
    own = group_configs.get(setting.name)
    synonyms = [] if own is None else [Synonym(setting.name, own, ConfigSource.DYNAMIC_GROUP)]
    return synonyms + _of_broker(config, RANGES[setting.name].source)


def _of_broker(config: BrokerConfig, setting: Setting[object]) -> list[Synonym]:
    synonyms = _set(config, setting)
    if setting.default is not None:
        synonyms.append(Synonym(setting.name, format_value(setting.default), ConfigSource.DEFAULT))
    return synonyms
