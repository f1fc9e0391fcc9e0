"""Fetch sessions (KIP-227): a client names its partitions once, and is told only of those that have changed.

Pure, with the time as an argument. :mod:`kafkatx.broker.handlers.fetch` asks for a context of each request,
serves the partitions that it names, and lets it leave out of the response what the client knows. Requests by
their session id and epoch:

===============  ==========  ================================================================================
session id       epoch       what it is
===============  ==========  ================================================================================
any              -1          all partitions are named; a session of this id ends
0                0           all partitions are named; a session begins, if there is room
any other        0           the same, in place of the session of this id
any other        1 and more  names new and changed partitions, and those to forget: the others are as before
===============  ==========  ================================================================================

The epoch rises by one with each request, and is 1 again after the largest. A request with an epoch that is
not the next one is refused, so nothing of a session is skipped: the client then names all partitions again.

Memory is bounded by ``max.incremental.fetch.session.cache.slots`` and :data:`MOST_PARTITIONS`. A new session
takes the place of one that was not used for :data:`IDLE_S`, or, if it is a follower's, of the client's that
was not used for the longest time. A client without a session names all its partitions each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from random import SystemRandom

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
INT32_MAX = 2**31 - 1
MOST_PARTITIONS = 200_000
"""Partitions of all sessions together; each takes some 400 bytes."""
IDLE_S = 120.0

Key = tuple[Hashable, int]
"""A topic, by id or by name, and a partition of it."""


@attrs.define(eq=False)
class _Cached:
    """A partition of a session.

    :ivar topic: the topic's name and id, as in the request.
    :ivar high_watermark: the last one that the client was told; -1: none yet.
    """

    topic: FetchTopic
    asked: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1

    def is_news(self, answer: PartitionData) -> bool:
        """Return True if the client must be told of an answer."""
        return bool(
            answer.error_code
            or answer.records
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.diverging_epoch is not None
            or answer.preferred_read_replica >= 0
        )


@attrs.define(eq=False)
class _Session:
    """One session.

    :ivar epoch: the epoch of the next request.
    :ivar by_ids: topics are named by their ids.
    :ivar replica_id: the follower whose session it is; -1: a client's.
    :ivar partitions: in the order in which they are served: those that had records last come last.
    """

    session_id: int
    by_ids: bool
    replica_id: int
    partitions: dict[Key, _Cached]
    used_s: float
    epoch: int = 1

    def key(self, topic: FetchTopic, number: int) -> Key:
        return (topic.topic_id if self.by_ids else topic.topic, number)

    def named(self) -> list[FetchTopic]:
        """Return all partitions as a request that names them."""
        topics: dict[Hashable, FetchTopic] = {}
        for (topic, _), cached in self.partitions.items():
            found = topics.get(topic)
            if found is None:
                named = cached.topic
                found = topics[topic] = FetchTopic(named.topic, named.topic_id, [])
            found.partitions.append(cached.asked)
        return list(topics.values())


class FetchContext:
    """One fetch request: the partitions to serve, and the response that the client needs.

    :ivar topics: the partitions to serve.
    """

    def __init__(self, topics: list[FetchTopic], session: _Session | None = None, first: bool = True) -> None:
        self.topics = topics
        self._session = session
        self._is_first = first

    def finish(self, response: FetchResponse) -> FetchResponse:
        """Leave out what the client knows; note what it is told. The response must be sent."""
        session = self._session
        if session is None:
            return response
        response.session_id = session.session_id
        topics = []
        for topic in response.responses:
            told = []
            key = topic.topic_id if session.by_ids else topic.topic
            for answer in topic.partitions:
                cached = session.partitions.get((key, answer.partition_index))
                if cached is None:
                    continue
                if self._is_first or cached.is_news(answer):
                    told.append(answer)
                if not answer.error_code:
                    cached.high_watermark = answer.high_watermark
                    cached.log_start_offset = answer.log_start_offset
                if answer.records:  # the others come first the next time
                    session.partitions[key, answer.partition_index] = session.partitions.pop(
                        (key, answer.partition_index)
                    )
            if told:
                topic.partitions = told
                topics.append(topic)
        response.responses = topics
        return response


class FetchSessions:
    """The sessions of one broker.

    :param slots: ``max.incremental.fetch.session.cache.slots``.
    :param random_id: returns random numbers from 1 to 2^31 - 1.
    """

    def __init__(self, slots: int, random_id: Callable[[], int] | None = None) -> None:
        self._slots = slots
        self._random_id = random_id or (lambda: SystemRandom().randint(1, INT32_MAX))
        self._sessions: dict[int, _Session] = {}
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions(self) -> int:
        """Number of partitions of all sessions."""
        return self._partitions

    def begin(self, request: FetchRequest, by_ids: bool, replica_id: int, now_s: float) -> FetchContext:
        """Return the context of a request.

        :param by_ids: the request names topics by their ids.
        :param replica_id: the follower that fetches; -1: a client.
        :param now_s: the time by the monotonic clock.
        :raises RequestError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH: the client names all
            partitions again; FETCH_SESSION_TOPIC_ID_ERROR: the session has names where the request has ids,
            or the other way round.
        """
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._end(request.session_id)
            session = None
            if request.session_epoch == INITIAL_EPOCH and request.topics:
                session = self._make(request.topics, by_ids, replica_id, now_s)
            return FetchContext(request.topics, session)
        session = self._sessions.get(request.session_id)
        if session is None or session.replica_id != replica_id:
            raise RequestError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise RequestError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_ids != by_ids:
            raise RequestError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.epoch = session.epoch % INT32_MAX + 1
        session.used_s = now_s
        self._change(session, request)
        return FetchContext(session.named(), session, first=False)

    def _change(self, session: _Session, request: FetchRequest) -> None:
        before = len(session.partitions)
        for topic in request.topics:
            for asked in topic.partitions:
                cached = session.partitions.setdefault(
                    session.key(topic, asked.partition), _Cached(_without_partitions(topic), asked)
                )
                # The answer is told whatever it is: the client may not have used the last one.
                cached.asked, cached.high_watermark = asked, -1
        for forgotten in request.forgotten_topics_data:
            key = forgotten.topic_id if session.by_ids else forgotten.topic
            for number in forgotten.partitions:
                session.partitions.pop((key, number), None)
        self._partitions += len(session.partitions) - before
        if self._partitions > MOST_PARTITIONS:
            self._end(session.session_id)  # this request is served; the next one names all partitions

    def _make(self, topics: list[FetchTopic], by_ids: bool, replica_id: int, now_s: float) -> _Session | None:
        count = sum(len(topic.partitions) for topic in topics)
        if not self._make_room(count, replica_id >= 0, now_s):
            return None
        session_id = self._random_id()
        while session_id in self._sessions:
            session_id = self._random_id()
        session = _Session(session_id, by_ids, replica_id, {}, now_s)
        for topic in topics:
            named = _without_partitions(topic)
            for asked in topic.partitions:
                session.partitions[session.key(topic, asked.partition)] = _Cached(named, asked)
        self._sessions[session_id] = session
        self._partitions += len(session.partitions)
        return session

    def _make_room(self, count: int, of_replica: bool, now_s: float) -> bool:
        """End sessions that give way to a new one; return False if there are not enough of them."""
        if count > MOST_PARTITIONS or not self._slots:
            return False
        for session in list(self._giving_way(of_replica, now_s)):
            if len(self._sessions) < self._slots and self._partitions + count <= MOST_PARTITIONS:
                break
            self._end(session.session_id)
        return len(self._sessions) < self._slots and self._partitions + count <= MOST_PARTITIONS

    def _giving_way(self, of_replica: bool, now_s: float) -> Iterator[_Session]:
        for session in sorted(self._sessions.values(), key=lambda one: one.used_s):
            if now_s - session.used_s > IDLE_S or (of_replica and session.replica_id < 0):
                yield session

    def _end(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)


def _without_partitions(topic: FetchTopic) -> FetchTopic:
    return FetchTopic(topic.topic, topic.topic_id, [])
