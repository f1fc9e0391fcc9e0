"""Tests of kafkatx.clientcore.consumer.fetch_session, against the sessions of a broker."""

from __future__ import annotations

import uuid
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests.fetch_sessions import FetchSessions
from kafkatx.clientcore.consumer.fetch_session import FEWEST, INT32_MAX, FetchSession
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

IDS = {"t": uuid.UUID(int=1), "u": uuid.UUID(int=2)}
Key = tuple[str, int]
Offsets = dict[Key, int]
MANY: Offsets = {("t", number): 0 for number in range(FEWEST)}


def whole(offsets: Offsets, ids: dict[str, uuid.UUID] = IDS) -> FetchRequest:
    """A request that names all partitions."""
    topics: dict[str, FetchTopic] = {}
    for (name, number), offset in offsets.items():
        part = FetchPartition(number, fetch_offset=offset, partition_max_bytes=100)
        topics.setdefault(name, FetchTopic(name, ids[name], [])).partitions.append(part)
    return FetchRequest(topics=list(topics.values()))


def named(request: FetchRequest) -> Offsets:
    """The partitions that a request names."""
    return {
        (topic.topic, part.partition): part.fetch_offset
        for topic in request.topics
        for part in topic.partitions
    }


def forgotten(request: FetchRequest) -> list[Key]:
    """The partitions that a request takes out of its session."""
    return [(topic.topic, number) for topic in request.forgotten_topics_data for number in topic.partitions]


class FetchSessionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a client's session."""
        self.session = FetchSession()

    def prepare(self, offsets: Offsets) -> FetchRequest:
        """The request for these partitions."""
        request = whole(offsets)
        self.session.prepare(request)
        return request

    def open(self, offsets: Offsets = MANY) -> None:
        """Begin a session with the id 7."""
        self.prepare(offsets)
        self.assertTrue(self.session.answered(FetchResponse(session_id=7)))

    def test_end(self) -> None:
        """The last request ends the session at the broker, also after a request that failed; and once."""
        broker = FetchSessions(5)
        for fails in (False, True):
            request = self.prepare(MANY)
            context = broker.begin(request, False, -1, 0.0)
            self.session.answered(context.finish(FetchResponse()))
            self.assertEqual(len(broker), 1)
            if fails:
                self.session.failed()
            ending = self.session.end()
            assert ending is not None
            broker.begin(ending, False, -1, 1.0)
            self.assertEqual(len(broker), 0)
            self.assertIsNone(self.session.end())
            self.assertFalse(self.session.is_open)

    def test_changes(self) -> None:
        """The first request names all partitions; the next ones what is new, has changed, or is gone."""
        first = self.prepare(MANY)
        self.assertEqual((first.session_id, first.session_epoch, named(first)), (0, 0, MANY))
        self.session.answered(FetchResponse(session_id=7))
        second = self.prepare(MANY)
        self.assertEqual((second.session_id, second.session_epoch, named(second)), (7, 1, {}))
        self.session.answered(FetchResponse(session_id=7))
        wanted = {key: offset for key, offset in MANY.items() if key != ("t", 3)}
        third = self.prepare({**wanted, ("t", 1): 9, ("u", 0): 0})
        self.assertEqual((third.session_epoch, named(third)), (2, {("t", 1): 9, ("u", 0): 0}))
        self.assertEqual(forgotten(third), [("t", 3)])
        self.session.answered(FetchResponse(session_id=7))
        self.assertEqual(forgotten(self.prepare({("u", 0): 0})), list(wanted))

    def test_each_field(self) -> None:
        """A partition is named again whichever of its fields has changed."""
        for changes in (
            {"current_leader_epoch": 3},
            {"fetch_offset": 3},
            {"last_fetched_epoch": 3},
            {"log_start_offset": 3},
            {"partition_max_bytes": 3},
        ):
            self.setUp()
            self.open()
            request = whole(MANY)
            for name, value in changes.items():
                setattr(request.topics[0].partitions[5], name, value)
            self.session.prepare(request)
            self.assertEqual(list(named(request)), [("t", 5)], changes)

    def test_few(self) -> None:
        """Few partitions are named each time, without a session; a session goes on with few."""
        few = dict(list(MANY.items())[:-1])
        for _ in range(2):
            request = self.prepare(few)
            self.assertEqual((request.session_id, request.session_epoch, named(request)), (0, -1, few))
            self.session.answered(FetchResponse())
        self.open()
        self.assertEqual(self.prepare(few).session_epoch, 1)

    def test_no_room(self) -> None:
        """A broker without room for a session is asked for one again with the next request."""
        for _ in range(2):
            request = self.prepare(MANY)
            self.assertEqual((request.session_id, request.session_epoch, named(request)), (0, 0, MANY))
            self.session.answered(FetchResponse())

    def test_lost_by_the_broker(self) -> None:
        """After an error of the session all partitions are named again, at once."""
        for code, session_id in (
            (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
            (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7),
            (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7),
        ):
            self.setUp()
            self.open()
            self.prepare(MANY)
            self.assertFalse(self.session.answered(FetchResponse(error_code=code)))
            request = self.prepare(MANY)
            self.assertEqual((request.session_id, request.session_epoch), (session_id, 0))
            self.assertEqual(named(request), MANY)
            # A broker that refuses this, too, is asked again after a pause.
            self.assertTrue(self.session.answered(FetchResponse(error_code=code)))

    def test_not_answered(self) -> None:
        """After a lost answer all partitions are named, and the session is replaced; or ended, if few are."""
        self.open()
        self.prepare(MANY)
        self.session.failed()
        request = self.prepare({("t", 0): 0})
        self.assertEqual((request.session_id, request.session_epoch), (7, -1))
        self.session.failed()
        request = self.prepare(MANY)
        self.assertEqual((request.session_id, request.session_epoch, named(request)), (7, 0, MANY))

    def test_ended_by_the_broker(self) -> None:
        """A broker that ends a session with its answer is asked for a new one."""
        self.open()
        self.prepare(MANY)
        self.assertTrue(self.session.answered(FetchResponse()))
        request = self.prepare(MANY)
        self.assertEqual((request.session_id, request.session_epoch, named(request)), (0, 0, MANY))

    def test_renew(self) -> None:
        """A partition whose answer was not used is named again."""
        self.open()
        self.session.renew("t", IDS["t"], 4)
        self.session.renew("t", IDS["t"], 400)
        self.session.renew("u", IDS["u"], 4)
        self.assertEqual(named(self.prepare(MANY)), {("t", 4): 0})

    def test_topic_made_anew(self) -> None:
        """A topic that has another id now begins a new session: in one request a broker that knows names
        would take it in and out again."""
        self.open()
        request = whole(MANY, {"t": uuid.UUID(int=3)})
        self.session.prepare(request)
        self.assertEqual((request.session_id, request.session_epoch, named(request)), (7, 0, MANY))

    def test_epochs_wrap(self) -> None:
        """The epoch after the largest is 1."""
        self.open()
        self.session._epoch = INT32_MAX
        self.prepare(MANY)
        self.session.answered(FetchResponse(session_id=7))
        self.assertEqual(self.prepare(MANY).session_epoch, 1)


class RandomTests(SynchronousTestCase):
    """A client and a broker: requests and answers get lost, and the broker forgets its sessions."""

    def test_any(self) -> None:
        """The broker serves exactly what the client wants, and the client knows the last of each."""
        for seed in range(60):
            for version in (12, 13):
                self.run_one(Random(seed), version, f"seed {seed}, version {version}")

    def run_one(self, random: Random, version: int, label: str) -> None:
        """Fetch some forty times."""
        broker, session = FetchSessions(random.choice((0, 1, 5))), FetchSession()
        wanted: Offsets = dict(MANY)
        known: dict[Key, int] = {}
        marks: dict[Key, int] = {}
        names = {topic_id: name for name, topic_id in IDS.items()}
        for _ in range(40):
            for _ in range(random.randrange(4)):
                key = (random.choice("tu"), random.randrange(15))
                if random.random() < 0.3:
                    wanted.pop(key, None)
                    known.pop(key, None)
                else:
                    wanted[key] = random.randrange(9)
            for key in random.sample(sorted(wanted), len(wanted) // 4):
                marks[key] = marks.get(key, 0) + 1
            request = whole(wanted)
            session.prepare(request)
            fate = random.choice(("arrives", "arrives", "arrives", "request lost", "answer lost", "restart"))
            if fate == "request lost":
                session.failed()
                continue
            if fate == "restart":
                broker = FetchSessions(5)
            received = decode(FetchRequest, version, encode(request, version))
            try:
                context = broker.begin(received, version >= 13, -1, 0.0)
            except RequestError as error:
                self.assertFalse(session.answered(FetchResponse(error_code=error.code)))
                continue
            served = {
                (topic.topic or names[topic.topic_id], part.partition): part.fetch_offset
                for topic in context.topics
                for part in topic.partitions
            }
            self.assertEqual(served, wanted, label)
            answers = [
                FetchableTopicResponse(
                    topic.topic,
                    topic.topic_id,
                    [
                        PartitionData(
                            part.partition,
                            0,
                            marks.get((topic.topic or names[topic.topic_id], part.partition), 0),
                            records=b"",
                        )
                        for part in topic.partitions
                    ],
                )
                for topic in context.topics
            ]
            response = context.finish(FetchResponse(responses=answers))
            if fate == "answer lost":
                session.failed()
                continue
            session.answered(response)
            for topic in response.responses:
                for one in topic.partitions:
                    known[topic.topic or names[topic.topic_id], one.partition_index] = one.high_watermark
            self.assertEqual(known, {key: marks.get(key, 0) for key in wanted}, label)
