"""The client's side of a fetch session (KIP-227): a request names only what has changed since the last one.

Pure. Consumers have a session with each broker that they fetch from, and so have brokers that copy many
partitions from another one. The broker's side is :mod:`kafkatx.broker.requests.fetch_sessions`.

A client makes each request as if there were no session, and :meth:`FetchSession.prepare` takes out of it what
the broker knows. An answer leaves out the partitions that have no news. After an error, or without an answer,
all partitions are named again, as it is unknown how much of the last request the broker has seen.

A session is begun only for :data:`FEWEST` partitions or more: below that it saves nothing, and a broker keeps
only so many of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

FEWEST = 10
"""Partitions of a request that begins a session."""

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
INT32_MAX = 2**31 - 1

_Topic = tuple[str, uuid.UUID]


class FetchSession:
    """The session with one broker; at most one request is in flight."""

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._asked_for_one = False
        self._named: dict[_Topic, dict[int, FetchPartition]] = {}

    @property
    def is_open(self) -> bool:
        """True if the next request names only changes."""
        return self._epoch != INITIAL_EPOCH

    def prepare(self, request: FetchRequest) -> None:
        """Take out of a request what the broker knows, and set its session.

        :param request: names all partitions to fetch, each topic once.
        """
        if self.is_open and self._has_other_ids(request.topics):
            self.failed()
        request.session_id = self._id
        if self.is_open:
            request.session_epoch = self._epoch
            self._name_changes(request)
            return
        self._asked_for_one = sum(len(topic.partitions) for topic in request.topics) >= FEWEST
        request.session_epoch = INITIAL_EPOCH if self._asked_for_one else FINAL_EPOCH
        self._named = _by_number(request.topics) if self._asked_for_one else {}

    def answered(self, response: FetchResponse) -> bool:
        """Take note of an answer; return False if the broker has lost the session: ask again at once."""
        was_open = self.is_open
        code = response.error_code
        if code:
            self.failed()
            if code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            return not was_open or code not in _LOST
        if response.session_id == NO_SESSION or not (was_open or self._asked_for_one):
            self.failed()
            self._id = NO_SESSION
        else:
            self._id = response.session_id
            self._epoch = self._epoch % INT32_MAX + 1
        return True

    def failed(self) -> None:
        """Take note that a request was not answered, or was refused: the next one names all partitions."""
        self._epoch = INITIAL_EPOCH
        self._named = {}

    def end(self) -> FetchRequest | None:
        """Return the request that ends the session at the broker; None if there is none to end.

        Its answer says nothing. Any connection to the broker will do. The next request names all partitions.
        """
        self.failed()
        ended, self._id = self._id, NO_SESSION
        if ended == NO_SESSION:
            return None
        return FetchRequest(max_wait_ms=0, min_bytes=0, session_id=ended, session_epoch=FINAL_EPOCH)

    def renew(self, topic: str, topic_id: uuid.UUID, partition: int) -> None:
        """Name a partition in the next request although it has not changed: its answer was not used."""
        known = self._named.get((topic, topic_id))
        if known is not None and partition in known:
            known[partition] = FetchPartition(partition, fetch_offset=-1, partition_max_bytes=-1)

    def _has_other_ids(self, topics: list[FetchTopic]) -> bool:
        """Return True if a topic has another id than in the session: it was made anew."""
        ids = {name: topic_id for name, topic_id in self._named if name}
        return any(ids.get(topic.topic, topic.topic_id) != topic.topic_id for topic in topics)

    def _name_changes(self, request: FetchRequest) -> None:
        wanted = _by_number(request.topics)
        named: list[FetchTopic] = []
        forgotten: list[ForgottenTopic] = []
        for topic in request.topics:
            known = self._named.get((topic.topic, topic.topic_id), {})
            changed = [part for part in topic.partitions if _differs(known.get(part.partition), part)]
            if changed:
                named.append(FetchTopic(topic.topic, topic.topic_id, changed))
        for (name, topic_id), known in self._named.items():
            kept: Collection[int] = wanted.get((name, topic_id), ())
            gone = [number for number in known if number not in kept]
            if gone:
                forgotten.append(ForgottenTopic(name, topic_id, gone))
        request.topics, request.forgotten_topics_data = named, forgotten
        self._named = wanted


_LOST = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


def _by_number(topics: list[FetchTopic]) -> dict[_Topic, dict[int, FetchPartition]]:
    return {
        (topic.topic, topic.topic_id): {part.partition: part for part in topic.partitions} for topic in topics
    }


def _differs(known: FetchPartition | None, asked: FetchPartition) -> bool:
    return (
        known is None
        or known.fetch_offset != asked.fetch_offset
        or known.current_leader_epoch != asked.current_leader_epoch
        or known.last_fetched_epoch != asked.last_fetched_epoch
        or known.log_start_offset != asked.log_start_offset
        or known.partition_max_bytes != asked.partition_max_bytes
    )
