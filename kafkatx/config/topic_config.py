"""Topic configs over the broker's settings: the value that a topic has, and those that it may have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.config.table import broker, log, topic
from kafkatx.config.table.row import Setting
from kafkatx.errors import ErrorCode, RequestError, SettingError

T = TypeVar("T")


def _default_sources() -> dict[str, tuple[Setting[Any], ...]]:
    sources: dict[str, tuple[Setting[Any], ...]] = dict.fromkeys(topic.SETTINGS, ())
    for setting in broker.SETTINGS.values():
        for name in setting.default_for:
            sources[name] += (setting,)
    return sources


DEFAULT_FROM: Mapping[str, tuple[Setting[Any], ...]] = _default_sources()
"""For each honoured topic config the broker settings for its default; the first one that is set counts."""

_LOG_CONFIG_FIELDS: tuple[tuple[str, Setting[Any]], ...] = (
    ("segment_bytes", topic.SEGMENT_BYTES),
    ("segment_ms", topic.SEGMENT_MS),
    ("segment_index_bytes", topic.SEGMENT_INDEX_BYTES),
    ("index_interval_bytes", topic.INDEX_INTERVAL_BYTES),
    ("max_message_bytes", topic.MAX_MESSAGE_BYTES),
    ("retention_ms", topic.RETENTION_MS),
    ("retention_bytes", topic.RETENTION_BYTES),
    ("retention_policy", topic.KAFKATX_RETENTION),
    ("file_delete_delay_ms", topic.FILE_DELETE_DELAY_MS),
    ("flush_messages", topic.FLUSH_MESSAGES),
    ("flush_ms", topic.FLUSH_MS),
    ("expose", topic.EXPOSE),
    ("records_validation", topic.RECORDS_VALIDATION),
    ("max_inflated_bytes", topic.MAX_INFLATED_BYTES),
    ("compression_type", topic.COMPRESSION_TYPE),
    ("message_timestamp_type", topic.MESSAGE_TIMESTAMP_TYPE),
    ("message_timestamp_before_max_ms", topic.MESSAGE_TIMESTAMP_BEFORE_MAX_MS),
    ("message_timestamp_after_max_ms", topic.MESSAGE_TIMESTAMP_AFTER_MAX_MS),
    ("min_cleanable_dirty_ratio", topic.MIN_CLEANABLE_DIRTY_RATIO),
    ("delete_retention_ms", topic.DELETE_RETENTION_MS),
    ("min_compaction_lag_ms", topic.MIN_COMPACTION_LAG_MS),
    ("max_compaction_lag_ms", topic.MAX_COMPACTION_LAG_MS),
    ("value_schemas", topic.CONFLUENT_VALUE_SCHEMA_VALIDATION),
    ("key_schemas", topic.CONFLUENT_KEY_SCHEMA_VALIDATION),
)


def topic_value(config: BrokerConfig, topic_configs: Mapping[str, str], setting: Setting[T]) -> T:
    """Return a topic's value of a setting from :mod:`kafkatx.config.table.topic`.

    It is the first one that is set of: the topic config, its aliases, the broker settings that give its
    default; or else the default. For ``retention.ms``: ``retention.ms``, ``log.retention.ms``,
    ``log.retention.minutes``, ``log.retention.hours``, a week.

    :raises SettingError: the topic's value is not allowed.
    """
    for name in (setting.name, *setting.aliases):
        if name in topic_configs:
            return setting.parse(topic_configs[name], name)
    for source in DEFAULT_FROM.get(setting.name, ()):
        if config.used_name(source) is not None:
            value: T = source.scaled(config[source])
            return value
    return setting.default


def log_config(config: BrokerConfig, topic_configs: Mapping[str, str]) -> LogConfig:
    """Return the settings of a topic's logs.

    :param topic_configs: the topic's own configs, set when it was created or later.
    :raises SettingError: a value of the topic is not allowed.
    """
    values = {field: topic_value(config, topic_configs, setting) for field, setting in _LOG_CONFIG_FIELDS}
    policies: tuple[str, ...] = topic_value(config, topic_configs, topic.CLEANUP_POLICY)
    if "compact" in policies:
        # The active segment is never compacted.
        values["segment_ms"] = min(values["segment_ms"], values["max_compaction_lag_ms"])
    return LogConfig(
        cleanup_policy=frozenset(policies),
        producer_id_expiration_ms=config[log.PRODUCER_ID_EXPIRATION_MS],
        producer_ids_max=config[log.PRODUCER_IDS_MAX],
        **values,
    )


def usable_topic_configs(configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configs of a topic without values that are not allowed, and an error message for each."""
    usable, complaints = {}, []
    for name, value in configs.items():
        setting = topic.ALL_SETTINGS.get(name)
        try:
            if setting is not None:
                setting.parse(value, name)
        except SettingError as error:
            complaints.append(str(error))
        else:
            usable[name] = value
    return usable, complaints


def validate_topic_configs(topic_configs: Mapping[str, str | None]) -> None:
    """Check a topic's configs in a client's request.

    :raises RequestError: INVALID_CONFIG: a name is unknown, a value is missing or not allowed; the message
        names them and says what is allowed.
    """
    for name, value in topic_configs.items():
        if name in topic.WRITTEN_BY_BROKERS:
            raise RequestError(
                ErrorCode.INVALID_CONFIG, f"{name} cannot be set: brokers write it for the topics of a link"
            )
        setting = topic.ALL_SETTINGS.get(name)
        if setting is None:
            raise RequestError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}{_nearest(name)}")
        if value is None:
            raise RequestError(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}"
            )
        try:
            setting.parse(value)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _nearest(name: str) -> str:
    import difflib  # only for an error message

    near = difflib.get_close_matches(name, topic.ALL_SETTINGS, 1)
    return f"; did you mean {near[0]}?" if near else ""
