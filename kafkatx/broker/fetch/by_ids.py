"""Fetches of version 13 and later, which name topics by their ids (KIP-516).

It touches nothing but what :mod:`~kafkatx.broker.fetch.fetch_round` does.
"""

from __future__ import annotations

import uuid

from kafkatx.broker.broker import Broker
from kafkatx.broker.fetch.fetch_round import FetchRound
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.types import Topic
from kafkatx.wire.messages.fetch import FetchRequest


class FetchByIds(FetchRound):
    """A fetch that names topics by their ids: a topic of the same name may be another one by now."""

    def __init__(self, broker: Broker, request: FetchRequest, context: RequestContext) -> None:
        super().__init__(broker, request, context)
        self._ids: dict[str, uuid.UUID] = {}
        names = broker.metadata.state.topic_names
        for topic in request.topics:
            topic.topic = names.get(topic.topic_id, "")  # no topic has an empty name
            self._ids[topic.topic] = topic.topic_id
        self._find = self._find_by_id

    def _find_by_id(self, topic: str, number: int) -> Partition | None:
        return self._broker.topics.find(topic, number) if self._is_same(topic) else None

    def _is_same(self, topic: str) -> bool:
        """Return True if the topic of that name still has the requested id."""
        known: Topic | None = self._broker.metadata.state.topics.get(topic)
        return known is not None and known.topic_id == self._ids[topic]

    def _missing(self, topic: str, number: int) -> ErrorCode:
        if self._is_same(topic):
            return super()._missing(topic, number)
        replaced = topic in self._broker.metadata.state.topics
        return ErrorCode.INCONSISTENT_TOPIC_ID if replaced else ErrorCode.UNKNOWN_TOPIC_ID
