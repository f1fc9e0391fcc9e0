"""Committed offsets across kill -9 and compaction: exactly the acknowledged ones are kept."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.types import FileSlice, TopicPartition
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.coordinated import partition_of
from tests.broker.files import FileBrokerTestCase
from tests.broker.running import Held

COMMIT, FETCH, DELETE = 8, 9, 47
GROUPS = ("", "a", "b", "some group", "gruppe-ü")
TOPICS = ("t", "u")
PARTITIONS = 3
SEED = 20261121

Model = dict[tuple[str, str, int], tuple[int, str]]


class RestartTestCase(FileBrokerTestCase):
    """Topics ``t`` and ``u`` with three partitions, and a model of the committed offsets."""

    settings: ClassVar[Mapping[str, str]] = {
        "offsets.topic.num.partitions": "3",
        "offsets.topic.segment.bytes": "2000",
        "log.cleaner.min.cleanable.ratio": "0",
    }

    def setUp(self) -> None:
        """Make the topics."""
        super().setUp()
        for topic in TOPICS:
            self.make_topic(topic, PARTITIONS)
        self.model: Model = {}

    def commit(self, group: str, topic: str, offsets: Mapping[int, tuple[int, str]]) -> None:
        """Commit offset and metadata of some partitions."""
        parts = [
            OffsetCommitRequestPartition(number, offset, committed_metadata=metadata)
            for number, (offset, metadata) in offsets.items()
        ]
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, parts)])
        (told,) = self.ask(COMMIT, 8, request).topics
        self.assertEqual({part.error_code for part in told.partitions}, {0})
        self.model.update({(group, topic, number): what for number, what in offsets.items()})

    def delete(self, group: str, topic: str, number: int) -> None:
        """Delete an offset, if the group allows it."""
        asked = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(number)])]
        response = self.ask(DELETE, 0, OffsetDeleteRequest(group, asked))
        if not group:
            self.assertEqual(response.error_code, ErrorCode.INVALID_GROUP_ID)
        elif not response.error_code:
            self.model.pop((group, topic, number), None)

    def fetched(self) -> Model:
        """Return all offsets that can be fetched."""
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None) for group in GROUPS])
        return {
            (group.group_id, topic.name, part.partition_index): (part.committed_offset, part.metadata)
            for group in self.ask(FETCH, 8, request).groups
            for topic in group.topics
            for part in topic.partitions
        }

    def compact(self) -> int:
        """Compact all logs that need it; return the number of bytes saved."""
        before = self.size()
        while self.successResultOf(self.broker.store.clean(self.now_ms)):
            pass
        return before - self.size()

    def size(self) -> int:
        """Return the size of ``__consumer_offsets`` in bytes."""
        return sum(p.log.size_bytes for p in self.broker.topics.of(CONSUMER_OFFSETS))


class RestartTests(RestartTestCase):
    def test_random(self) -> None:
        """Random commits, deletions, compactions and restarts give the same offsets as a dict."""
        chance = random.Random(SEED)
        saved = 0
        for _ in range(250):
            dice = chance.random()
            group, topic = chance.choice(GROUPS), chance.choice(TOPICS)
            if dice < 0.75:
                numbers = chance.sample(range(PARTITIONS), chance.randint(1, PARTITIONS))
                what = {n: (chance.randint(0, 9999), "m" * chance.randint(0, 20)) for n in numbers}
                self.commit(group, topic, what)
            elif dice < 0.9:
                self.delete(group, topic, chance.randrange(PARTITIONS))
            elif dice < 0.95:
                saved += self.compact()
            else:
                self.restart()
            self.assertEqual(self.fetched(), self.model)
        self.assertGreater(saved, 5_000)
        self.restart()
        self.assertEqual(self.fetched(), self.model)

    def test_compaction_keeps_the_last(self) -> None:
        """Compaction of many commits leaves few, and the last one of each partition."""
        for offset in range(300):
            self.commit("a", "t", {offset % PARTITIONS: (offset, "")})
        self.assertGreater(self.compact(), 0.7 * 300 * 100)
        self.restart()
        self.assertEqual(self.fetched(), {("a", "t", number): (297 + number, "") for number in range(3)})

    def test_simple_group_is_back(self) -> None:
        """A group that only has offsets exists after a restart, without members."""
        self.commit("a", "t", {0: (5, "m")})
        self.restart()
        group = self.broker.groups.find("a")
        assert group is not None
        self.assertEqual((group.state, group.has_members), ("Empty", False))
        self.commit("a", "t", {0: (6, "m")})
        self.assertEqual(self.fetched(), self.model)

    def test_last_batch_is_torn(self) -> None:
        """A last commit torn by a crash leaves all commits before it."""
        self.commit("a", "t", {0: (5, "first")})
        log = partition_of(self.broker, "a").log
        whole = log.size_bytes
        self.commit("a", "t", {0: (6, "second"), 1: (6, "second")})
        name: TopicPartition = log.topic_partition
        records, segments = log.read(0, 1 << 20, 3, True), list[Any](log.segments)
        assert isinstance(records, FileSlice)
        path, data = segments[0].file.path, records.tobytes()
        for size in range(whole, len(data), 7):
            self.restart_with(path, data[:size])
            self.assertEqual(self.broker.topics.find(*name).log.log_end_offset, 1)  # type: ignore[union-attr]
            self.assertEqual(self.fetched(), {("a", "t", 0): (5, "first")})
        self.restart_with(path, data)
        self.assertEqual(self.fetched(), self.model)

    def restart_with(self, path: str, data: bytes) -> None:
        """Restart with another content of a file."""
        with open(path, "wb") as file:
            file.write(data)
        self.restart()


class LoadingTests(RestartTestCase):
    def test_while_it_loads(self) -> None:
        """A group that is not loaded yet is an error; then its offsets can be fetched."""
        self.commit("a", "t", {0: (5, "m")})
        held = Held()
        held.holding = False
        with_held: dict[str, Any] = {"workers": held}
        open_groups = type(self.broker.groups).open

        async def open_held(groups: Any) -> None:
            held.holding = True
            await open_groups(groups)

        self.patch(type(self.broker.groups), "open", open_held)
        self.restart(**with_held)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("a", topics=None)])
        (group,) = self.ask(FETCH, 8, request).groups
        self.assertEqual(group.error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        held.work()
        held.holding = False
        self.assertEqual(self.fetched(), self.model)
