"""Fetch sessions: which partitions are served, and what clients are told."""

from __future__ import annotations

import uuid
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests import fetch_sessions as sessions_module
from kafkatx.broker.requests.fetch_sessions import FetchContext, FetchSessions
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

T, U = uuid.UUID(int=1), uuid.UUID(int=2)
Offsets = dict[tuple[uuid.UUID, int], int]


def request(session_id: int, epoch: int, offsets: Offsets, *forgotten: tuple[uuid.UUID, int]) -> FetchRequest:
    """A request that names partitions with their fetch offsets."""
    topics: dict[uuid.UUID, FetchTopic] = {}
    for (topic, number), offset in offsets.items():
        asked = FetchPartition(number, fetch_offset=offset, partition_max_bytes=100)
        topics.setdefault(topic, FetchTopic("", topic, [])).partitions.append(asked)
    gone = [ForgottenTopic("", topic, [number]) for topic, number in forgotten]
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, topics=list(topics.values()), forgotten_topics_data=gone
    )


def named(context: FetchContext) -> Offsets:
    """The partitions that are served."""
    return {
        (topic.topic_id, asked.partition): asked.fetch_offset
        for topic in context.topics
        for asked in topic.partitions
    }


def answer(context: FetchContext, **changes: PartitionData) -> FetchResponse:
    """The response to a context: nothing new, but for the partitions ``t0``, ``u1``..."""
    responses = []
    for topic in context.topics:
        letter = "t" if topic.topic_id == T else "u"
        answers = [
            changes.get(f"{letter}{asked.partition}", PartitionData(asked.partition, 0, 5, 5, 0, records=b""))
            for asked in topic.partitions
        ]
        responses.append(FetchableTopicResponse("", topic.topic_id, answers))
    return context.finish(FetchResponse(responses=responses))


def told(response: FetchResponse) -> list[tuple[uuid.UUID, int]]:
    """The partitions of a response."""
    return [(topic.topic_id, one.partition_index) for topic in response.responses for one in topic.partitions]


class SessionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Room for three sessions, with the ids 1, 2, 3..."""
        ids = iter(range(1, 1000))
        self.sessions = FetchSessions(3, lambda: next(ids))

    def begin(self, asked: FetchRequest, replica_id: int = -1, now_s: float = 0.0) -> FetchContext:
        """Return the context of a request that names topics by ids."""
        return self.sessions.begin(asked, True, replica_id, now_s)

    def open(self, offsets: Offsets, replica_id: int = -1, now_s: float = 0.0) -> int:
        """Begin a session; return its id."""
        return answer(self.begin(request(0, 0, offsets), replica_id, now_s)).session_id

    def refused(self, asked: FetchRequest, replica_id: int = -1) -> ErrorCode:
        """Return the error of a request."""
        code: ErrorCode = self.assertRaises(RequestError, self.begin, asked, replica_id).code
        return code

    def test_incremental(self) -> None:
        """Partitions that a request does not name are served as before; of them only news are told."""
        first = self.begin(request(0, 0, {(T, 0): 0, (T, 1): 0, (U, 0): 0}))
        response = answer(first)
        self.assertEqual(told(response), [(T, 0), (T, 1), (U, 0)])
        second = self.begin(request(response.session_id, 1, {(T, 1): 5}))
        self.assertEqual(named(second), {(T, 0): 0, (T, 1): 5, (U, 0): 0})
        self.assertEqual(told(answer(second)), [(T, 1)])

    def test_news(self) -> None:
        """Records, errors, another high watermark or log start, and diverging epochs are told."""
        session_id = self.open({(T, 0): 0, (T, 1): 0})
        for epoch, news in enumerate(
            (
                PartitionData(1, 0, 5, 5, 0, records=b"x"),
                PartitionData(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, records=b""),
                PartitionData(1, 0, 6, 6, 0, records=b""),
                PartitionData(1, 0, 6, 6, 1, records=b""),
                PartitionData(1, 0, 6, 6, 1, diverging_epoch=EpochEndOffset(1, 2), records=b""),
            ),
            start=1,
        ):
            response = answer(self.begin(request(session_id, epoch, {})), t1=news)
            self.assertEqual(told(response), [(T, 1)], news)
        unchanged = PartitionData(1, 0, 6, 6, 1, records=b"")
        self.assertEqual(told(answer(self.begin(request(session_id, 6, {})), t1=unchanged)), [])

    def test_fair(self) -> None:
        """A partition that had records is served after the others the next time."""
        session_id = self.open({(T, 0): 0, (U, 0): 0})
        answer(self.begin(request(session_id, 1, {})), t0=PartitionData(0, 0, 5, 5, 0, records=b"x"))
        self.assertEqual(list(named(self.begin(request(session_id, 2, {})))), [(U, 0), (T, 0)])

    def test_forgotten(self) -> None:
        """A forgotten partition is served no more."""
        session_id = self.open({(T, 0): 0, (U, 0): 0})
        self.assertEqual(named(self.begin(request(session_id, 1, {}, (T, 0), (T, 9)))), {(U, 0): 0})
        self.assertEqual(self.sessions.partitions, 1)

    def test_epochs(self) -> None:
        """Only the next epoch is taken; after the largest comes 1."""
        session_id = self.open({(T, 0): 0})
        for epoch in (2, 5):
            code = self.refused(request(session_id, epoch, {}))
            self.assertEqual(code, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        self.begin(request(session_id, 1, {}))
        self.assertEqual(self.refused(request(session_id, 1, {})), ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        self.sessions._sessions[session_id].epoch = 2**31 - 1
        self.begin(request(session_id, 2**31 - 1, {}))
        self.begin(request(session_id, 1, {}))

    def test_unknown(self) -> None:
        """Unknown sessions and those of others are not found; names and ids are not mixed."""
        session_id = self.open({(T, 0): 0}, replica_id=2)
        for asked, replica_id in ((request(99, 1, {}), 2), (request(session_id, 1, {}), 3)):
            self.assertEqual(self.refused(asked, replica_id), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        error = self.assertRaises(
            RequestError, self.sessions.begin, request(session_id, 1, {}), False, 2, 0.0
        )
        self.assertEqual(error.code, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)

    def test_ends(self) -> None:
        """A request that names all partitions ends the session of its id; epoch 0 begins another one."""
        session_id = self.open({(T, 0): 0})
        response = answer(self.begin(request(session_id, 0, {(U, 0): 0})))
        self.assertEqual((response.session_id, len(self.sessions)), (2, 1))
        response = answer(self.begin(request(2, -1, {(U, 0): 0})))
        self.assertEqual((response.session_id, told(response), len(self.sessions)), (0, [(U, 0)], 0))
        self.assertEqual(self.sessions.partitions, 0)

    def test_slots(self) -> None:
        """Without a free slot a client gets no session, a follower takes the oldest one of a client."""
        for now_s in (1.0, 2.0, 3.0):
            self.open({(T, 0): 0}, now_s=now_s)
        self.assertEqual(self.open({(T, 0): 0}, now_s=4.0), 0)
        self.assertNotEqual(self.open({(T, 0): 0}, replica_id=2, now_s=4.0), 0)
        self.assertEqual(self.refused(request(1, 1, {})), ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self.begin(request(2, 1, {}), now_s=100.0)
        self.assertNotEqual(self.open({(T, 0): 0}, now_s=150.0), 0)
        self.begin(request(2, 2, {}))
        self.assertEqual(len(self.sessions), 3)

    def test_bounded(self) -> None:
        """The partitions of all sessions together are bounded; one that grows too large is ended."""
        self.patch(sessions_module, "MOST_PARTITIONS", 4)
        session_id = self.open({(T, 0): 0, (T, 1): 0})
        self.assertEqual(self.open({(T, n): 0 for n in range(3)}), 0)
        grown = self.begin(request(session_id, 1, {(U, n): 0 for n in range(3)}))
        self.assertEqual(len(named(grown)), 5)
        self.assertEqual((len(self.sessions), self.sessions.partitions), (0, 0))
        self.assertEqual(told(answer(grown)), [(U, 0), (U, 1), (U, 2)])

    def test_random(self) -> None:
        """A client that adds, changes and forgets partitions is told of every change of those it asks for."""
        random = Random(227)
        wanted: Offsets = {(T, 0): 0}
        session_id = self.open(wanted)
        marks: dict[tuple[uuid.UUID, int], int] = {}
        known: dict[tuple[uuid.UUID, int], int] = {(T, 0): 5}
        for epoch in range(1, 500):
            changed = {(random.choice((T, U)), random.randrange(6)): random.randrange(9) for _ in range(2)}
            gone = [key for key in wanted if key not in changed and random.random() < 0.2]
            wanted = {key: offset for key, offset in (wanted | changed).items() if key not in gone}
            for key in gone:
                known.pop(key, None)
            context = self.begin(request(session_id, epoch, changed, *gone))
            self.assertEqual(named(context), wanted)
            for key in wanted:
                if random.random() < 0.3:
                    marks[key] = marks.get(key, 5) + 1
            letters = {T: "t", U: "u"}
            answers = {
                f"{letters[key[0]]}{key[1]}": PartitionData(key[1], 0, marks.get(key, 5), -1, 0, records=b"")
                for key in wanted
            }
            for topic in answer(context, **answers).responses:
                for one in topic.partitions:
                    known[topic.topic_id, one.partition_index] = one.high_watermark
            self.assertEqual(known, {key: marks.get(key, 5) for key in wanted})
