"""Each name in a request is answered once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.broker.requests.unique_names import Names, partitions
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.wire import codec
from kafkatx.wire.api import Api
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafkatx.wire.schema import STRING, Array, Nullable, StructType, Type
from tests.broker.running import BrokerTestCase, codes

TIMES = 1000
SMALL_BYTES = 2000
"""More bytes than an error message has."""

WAITS = {"JoinGroup", "SyncGroup"}
"""Requests that may wait; their responses repeat no names of the request."""

ECHOED = {("AlterClientQuotas", "entity")}
"""Arrays that are parts of one name, which the response repeats."""

IN_ORDER = {"CreateAcls", "DeleteAcls"}
"""Requests whose results have no names: one for each entry, in order."""


def made(kind: Type, version: int) -> Any:
    """Return a value of a type, with one element in each array and "t" for each text."""
    if isinstance(kind, Nullable):
        return made(kind.of, version)
    if isinstance(kind, Array):
        return [made(kind.of, version)]
    if isinstance(kind, StructType):
        values = {
            f.name: made(f.type_in(version), version)
            for f in kind.FIELDS
            if f.exists_in(version) and not f.tagged_in(version)
        }
        return kind(**values)
    return "t" if kind is STRING else kind.default


def arrays(message: Any, version: int) -> Iterator[tuple[Any, str]]:
    """Yield the holder and the name of every array in such a message."""
    for declared in type(message).FIELDS:
        value = getattr(message, declared.name)
        if isinstance(value, list) and value and declared.exists_in(version):
            yield message, declared.name
            if isinstance(type(value[0]), StructType):
                yield from arrays(value[0], version)


class EveryApiTests(BrokerTestCase):
    def reply_bytes(self, api: Api, version: int, number: int | None) -> int:
        """Return the size of the reply to a request in which the only element of one array is repeated.

        :return: less the size of the request, where the results are in the order of its entries.
        """
        request = made(api.request, version)
        if number is not None:
            holder, name = list(arrays(request, version))[number]
            setattr(holder, name, getattr(holder, name) * TIMES)
        self.broker = self.make_broker()
        self.dispatch = Dispatch(self.broker, SERVED)
        self.make_topic("t")
        try:
            answer = self.answer(api.key, version, request)
        except ProtocolViolation:
            return 0
        if isinstance(answer, Deferred):
            if not answer.called:
                self.clock.advance(10)
            if not answer.called:
                self.assertIn(api.name, WAITS)
                answer.cancel()
                self.failureResultOf(answer, CancelledError)
                return 0
            answer = self.successResultOf(answer)
        size = sum(map(len, answer or ()))
        return size - len(codec.encode(request, version)) if api.name in IN_ORDER else size

    def test_every_array_of_every_request(self) -> None:
        """A reply is hardly larger if its request repeats an element a thousand times."""
        for line in SERVED:
            api = line.api
            for version in {api.versions[0], api.versions[-1]}:
                once = self.reply_bytes(api, version, None)
                for number, (_, name) in enumerate(arrays(made(api.request, version), version)):
                    if (api.name, name) in ECHOED:
                        continue
                    many = self.reply_bytes(api, version, number)
                    self.assertLess(many, 2 * max(once, 0) + SMALL_BYTES, f"{api.name} v{version}: {name}")


class NamesTests(SynchronousTestCase):
    PARTITIONS = Names("topics", ("topic",), Names("partitions", ("partition",)))

    def test_nothing_repeated(self) -> None:
        """A request without repetitions is left as it is, with the same list objects."""
        topics = [FetchTopic(t, partitions=[FetchPartition(n) for n in range(3)]) for t in "ab"]
        request = FetchRequest(topics=topics)
        self.assertEqual(self.PARTITIONS.unite(request), set())
        self.assertIs(request.topics, topics)
        self.assertEqual([len(topic.partitions) for topic in topics], [3, 3])

    def test_topics_are_put_together(self) -> None:
        """Entries of one topic are merged; a partition keeps its first place and its last values."""
        request = FetchRequest(
            topics=[
                FetchTopic("a", partitions=[FetchPartition(0, fetch_offset=1), FetchPartition(1)]),
                FetchTopic("b", partitions=[FetchPartition(0)]),
                FetchTopic("a", partitions=[FetchPartition(2), FetchPartition(0, fetch_offset=2)]),
            ]
        )
        self.assertEqual(self.PARTITIONS.unite(request), {("a", 0)})
        self.assertEqual(
            [(t.topic, [(p.partition, p.fetch_offset) for p in t.partitions]) for t in request.topics],
            [("a", [(0, 2), (1, 0), (2, 0)]), ("b", [(0, 0)])],
        )

    def test_null_is_everything(self) -> None:
        """An entry that asks for all takes precedence over one that asks for some; null itself stays."""
        names = Names("groups", ("group_id",), partitions("topics", "name", "partition_indexes"))
        some = [OffsetFetchRequestTopics("t", [0, 0])]
        groups = [OffsetFetchRequestGroup("g", topics=None), OffsetFetchRequestGroup("g", topics=some)]
        request = OffsetFetchRequest(groups=groups)
        names.unite(request)
        self.assertEqual([(g.group_id, g.topics) for g in request.groups], [("g", None)])
        request = OffsetFetchRequest("g", topics=None)
        partitions("topics", "name", "partition_indexes").unite(request)
        self.assertIsNone(request.topics)

    def test_plain_values(self) -> None:
        """Plain values keep their order."""
        request = OffsetFetchRequest("g", topics=[OffsetFetchRequestTopic("t", [2, 1, 2, 3, 1])])
        partitions("topics", "name", "partition_indexes").unite(request)
        assert request.topics is not None
        self.assertEqual(request.topics[0].partition_indexes, [2, 1, 3])


class RefusedTests(BrokerTestCase):
    def test_list_offsets(self) -> None:
        """A partition that occurs twice in ListOffsets is INVALID_REQUEST, once; the others are answered."""
        self.make_topic("t", 2)
        topic = ListOffsetsTopic("t", [ListOffsetsPartition(n, timestamp=-1) for n in (0, 1, 0)])
        response = self.ask(2, 5, ListOffsetsRequest(topics=[topic]))
        results = response.topics[0].partitions
        self.assertEqual([result.partition_index for result in results], [0, 1])
        self.assertEqual(codes(results), [ErrorCode.INVALID_REQUEST, 0])
