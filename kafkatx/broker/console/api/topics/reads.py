"""Topics: the list, one topic, its producers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import attrs

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.configs import TOPIC, TopicConfigs, read_configs
from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.api.topics.partitions import describe_partitions, producers
from kafkatx.broker.console.cluster.topics import TopicFigures
from kafkatx.broker.console.cluster.turns import Turns
from kafkatx.broker.console.errors import ConsoleError, check_code
from kafkatx.broker.console.kafka_requests import peer_of
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.broker.requests.authorized_operations import TOPIC_OPERATIONS
from kafkatx.config.table.broker import SCHEMAS_TOPIC
from kafkatx.config.table.row import Setting
from kafkatx.config.table.topic import CLEANUP_POLICY, RETENTION_MS
from kafkatx.config.topic_config import topic_value
from kafkatx.errors import SettingError
from kafkatx.types import Topic
from kafkatx.web.calls import Call

T = TypeVar("T")

_DESCRIBE, _TOPIC, _GROUP = AclOperation.DESCRIBE, ResourceType.TOPIC, ResourceType.GROUP


_INTERNAL = {"internal": "false: leave out the topics of the brokers and of the schema registry"}


@attrs.frozen
class _Row:
    """A topic of the list."""

    topic: Topic
    figures: TopicFigures


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    reads = _Reads(parts)
    path = "/topics/{name}"
    return [
        Route("GET", "/topics", reads.list, "List the topics", {**QUERY, **_INTERNAL}),
        Route("GET", path, reads.describe, "Describe a topic: partitions, configs, groups"),
        Route("GET", f"{path}/configs", reads.configs, "Tell the configs of a topic"),
        Route("GET", f"{path}/producers", reads.producers, "List the producers of a topic", QUERY),
    ]


class _Reads:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._broker = parts.broker
        self._configs = TopicConfigs(parts)
        self._listing: Listing[_Row] = Listing(
            lambda row: row.topic.name,
            {
                "name": lambda row: row.topic.name,
                "partitions": lambda row: len(row.topic.partitions),
                "replicationFactor": _factor,
                "retentionMs": self._retention_ms,
                "bytesInPerSecond": lambda row: row.figures.rate,
                "records": lambda row: row.figures.records,
                "sizeBytes": lambda row: row.figures.size_bytes,
            },
        )

    async def list(self, call: Call) -> object:
        """Return a page of the topics that the user may describe."""
        parts, page = self._parts, Page.of(call, self._listing.fields)
        figures = await parts.cluster.topics.get()
        counts = await parts.cluster.counts.get()
        turns = Turns(self._broker.clock)
        unknown = TopicFigures()
        topics = list(self._broker.metadata.state.topics.values())
        if call.text("internal") == "false":
            topics = [topic for topic in topics if not self._is_internal(topic)]
        total, rows = await self._listing.cut_long(
            page,
            (_Row(topic, figures.get(topic.name, unknown)) for topic in topics),
            turns,
            lambda row: parts.sees(call, _DESCRIBE, _TOPIC, row.topic.name),
        )
        items = []
        for row in rows:
            items.append(self._item(row, counts.by_topic))
            await turns.step(10)
        return {"total": total, "items": items}

    def _item(self, row: _Row, trouble: Mapping[str, tuple[int, int]]) -> dict[str, object]:
        topic, figures = row.topic, row.figures
        under_replicated, offline = trouble.get(topic.name, (0, 0))
        return {
            **self._named(topic),
            "partitions": len(topic.partitions),
            "replicationFactor": _factor(row),
            "sizeBytes": None if figures.size_bytes is None else str(figures.size_bytes),
            "records": None if figures.records is None else str(figures.records),
            "bytesInPerSecond": None if figures.rate is None else round(figures.rate, 1),
            "underReplicated": under_replicated,
            "offline": offline,
            "cleanupPolicy": ",".join(self._value(topic, CLEANUP_POLICY) or ()),
            "retentionMs": self._retention_ms(row),
        }

    def _named(self, topic: Topic) -> dict[str, object]:
        return {"name": topic.name, "id": str(topic.topic_id), "internal": self._is_internal(topic)}

    def _is_internal(self, topic: Topic) -> bool:
        """Return True for a topic that applications do not use themselves."""
        return topic.internal or topic.name == self._broker.config[SCHEMAS_TOPIC]

    def _retention_ms(self, row: _Row) -> int | None:
        return self._value(row.topic, RETENTION_MS)

    def _value(self, topic: Topic, setting: Setting[T]) -> T | None:
        try:
            return topic_value(self._broker.config, topic.configs, setting)
        except SettingError:
            return None  # another version has allowed it

    def find(self, call: Call, name: str) -> Topic:
        """Return a topic that the user may describe.

        :raises ConsoleError: there is none, or the user may not know.
        """
        if not self._parts.sees(call, _DESCRIBE, _TOPIC, name):
            check_code(29, None, f"topic {name[:300]}")
        topic: Topic | None = self._broker.metadata.state.topics.get(name)
        if topic is None:
            raise ConsoleError(404, "UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name[:300]!r}")
        return topic

    async def describe(self, call: Call, name: str) -> object:
        """Describe a topic."""
        parts, topic = self._parts, self.find(call, name)
        partitions = await describe_partitions(parts, topic)
        try:
            configs: list[dict[str, object]] | None = await self._configs.read(call, name)
        except ConsoleError as error:
            if error.status != 403:
                raise
            configs = None
        groups = await parts.cluster.groups.get()
        return {
            **self._named(topic),
            "partitions": partitions,
            "configs": configs,
            "groups": [
                {"id": group.id, "state": group.state, "lag": _text(group.lags[name])}
                for group in groups.values()
                if name in group.lags and parts.sees(call, _DESCRIBE, _GROUP, group.id)
            ],
            "authorizedOperations": self._operations(call, name),
        }

    def _operations(self, call: Call, name: str) -> Sequence[str]:
        """Return the names of the operations that the user may perform on a topic."""
        authorization = self._broker.authorization
        bits = (
            TOPIC_OPERATIONS
            if authorization is None
            else authorization.operations(peer_of(call), _TOPIC, name)
        )
        return [each.name for each in AclOperation if bits >> each & 1]

    async def configs(self, call: Call, name: str) -> object:
        """Return the configs of a topic."""
        self.find(call, name)
        return {"configs": await read_configs(self._parts, call, TOPIC, name)}

    async def producers(self, call: Call, name: str) -> object:
        """Return a page of the producers of a topic."""
        return await producers(self._parts, call, self.find(call, name))


def _factor(row: _Row) -> int:
    return len(row.topic.partitions[0].replicas) if row.topic.partitions else 0


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
