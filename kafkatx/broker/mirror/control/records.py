"""Writes of the records of mirrored topics, each only if the record that it replaces is still there.

They change the cluster's metadata, through :mod:`kafkatx.broker.topic_commands`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.broker.mirror.control.topic_plan import FOLLOWED_CONFIGS
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState, record_of
from kafkatx.errors import ErrorCode, RequestError


class RecordChanged(RequestError):
    """The topic has another record by now, or none: another controller was first, or the topic is another."""

    def __init__(self, topic: str) -> None:
        super().__init__(ErrorCode.INVALID_REQUEST, f"the mirror {topic} has changed meanwhile")


async def replace_record(
    commands: TopicCommands, topic: str, before: MirrorRecord, after: MirrorRecord
) -> None:
    """Replace the record of a topic.

    :raises RecordChanged: its record is not *before*.
    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, or the change could not be made in time.
    """

    def change(old: Mapping[str, str]) -> Mapping[str, str]:
        if record_of(old) != before:
            raise RecordChanged(topic)
        return {**old, KAFKATX_MIRROR: after.text()}

    await commands.alter_configs(topic, change)


async def follow_configs(commands: TopicCommands, topic: str, link: str, configs: Mapping[str, str]) -> None:
    """Replace the followed configs of a topic that a link mirrors.

    :raises RecordChanged: the topic is not the link's, or was promoted.
    :raises RequestError: as :func:`replace_record`.
    """

    def change(old: Mapping[str, str]) -> Mapping[str, str]:
        record = record_of(old)
        if record is None or record.link != link or record.state is MirrorState.PROMOTED:
            raise RecordChanged(topic)
        others = {name: value for name, value in old.items() if name not in FOLLOWED_CONFIGS}
        return {**others, **configs}

    await commands.alter_configs(topic, change)
