"""Subject name strategies: under which subject the schema of a message is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafkatx.errors import SettingError

Strategy: TypeAlias = "Callable[[str, bool, str], str]"
"""From the topic, True for keys, and the schema's full name (empty if it has none) to the subject."""


def topic_name(topic: str, is_key: bool, record: str) -> str:
    """Return ``<topic>-key`` or ``<topic>-value``."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(topic: str, is_key: bool, record: str) -> str:
    """Return the full name of the record or message.

    :raises ValueError: the schema has no name.
    """
    if not record:
        raise ValueError("the schema has no name, and the subject name strategy is by record")
    return record


def topic_record_name(topic: str, is_key: bool, record: str) -> str:
    """Return ``<topic>-<full name>``.

    :raises ValueError: the schema has no name.
    """
    return f"{topic}-{record_name(topic, is_key, record)}"


_SHORT = {
    "TopicNameStrategy": topic_name,
    "RecordNameStrategy": record_name,
    "TopicRecordNameStrategy": topic_record_name,
}
NAMES = tuple(_SHORT)


def strategy(setting: str, name: str) -> Strategy:
    """Return the strategy of a setting; a Java class name counts by its last part.

    :raises SettingError: there is no such strategy.
    """
    found = _SHORT.get(name.rpartition(".")[2])
    if found is None:
        raise SettingError(f"{setting}={name}: the strategies are {', '.join(NAMES)}")
    return found
