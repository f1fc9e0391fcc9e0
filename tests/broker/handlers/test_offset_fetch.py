"""OffsetFetch: committed offsets are returned in every version's format."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.broker.coordinated import put_group
from tests.broker.handlers.test_offset_commit import CommitTestCase, commit

KEY = 9
VERSIONS = range(10)
MANY_SINCE = 8

Row = tuple[str, int, int, int, "str | None", int]
"""Topic, partition, offset, leader epoch, metadata, error."""


class FetchTestCase(CommitTestCase):
    """A test case in which group ``g`` has committed 5 and 6 for topic ``t``."""

    def setUp(self) -> None:
        """Commit the offsets."""
        super().setUp()
        self.codes(commit(5, 6))

    def request(self, version: int, group: str, asked: dict[str, list[int]] | None) -> OffsetFetchRequest:
        """Return a request for one group."""
        if version >= MANY_SINCE:
            topics = None if asked is None else [OffsetFetchRequestTopics(*one) for one in asked.items()]
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)])
        old = None if asked is None else [OffsetFetchRequestTopic(*one) for one in asked.items()]
        return OffsetFetchRequest(group, old)

    def fetch(
        self, version: int, asked: dict[str, list[int]] | None, group: str = "g"
    ) -> tuple[int, list[Row]]:
        """Return the group's error and the rows of its offsets."""
        response: OffsetFetchResponse = self.ask(KEY, version, self.request(version, group, asked))
        part: Any = response
        if version >= MANY_SINCE:
            (part,) = response.groups
            self.assertEqual(part.group_id, group)
        return part.error_code, [
            (
                topic.name,
                one.partition_index,
                one.committed_offset,
                one.committed_leader_epoch,
                one.metadata,
                one.error_code,
            )
            for topic in part.topics
            for one in topic.partitions
        ]


class FetchTests(FetchTestCase):
    def test_every_version(self) -> None:
        """Every version returns offset and metadata; the leader epoch is returned from version 5 on."""
        for version in VERSIONS:
            epoch = 7 if version >= 5 else -1
            expected = [("t", 1, 6, epoch, "m", 0), ("t", 0, 5, epoch, "m", 0)]
            self.assertEqual(self.fetch(version, {"t": [1, 0]}), (0, expected), version)

    def test_no_offset(self) -> None:
        """A missing offset is -1, without an error except in version 0."""
        asked = {"t": [0, 2], "unknown": [0]}
        for version in VERSIONS:
            error, (_, *missing) = self.fetch(version, asked)
            code = 0 if version else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            expected = [("t", 2, -1, -1, "", code), ("unknown", 0, -1, -1, "", code)]
            self.assertEqual((error, missing), (0, expected), version)

    def test_unknown_group(self) -> None:
        """A missing group has no committed offsets, which is no error."""
        for version in VERSIONS[1:]:
            for group in ("other", ""):
                self.assertEqual(self.fetch(version, {"t": [0]}, group), (0, [("t", 0, -1, -1, "", 0)]))
        self.assertIsNone(self.broker.groups.find("other"))

    def test_all(self) -> None:
        """Null topics return all offsets from version 2 on; for a missing group there are none."""
        for version in VERSIONS[2:]:
            error, rows = self.fetch(version, None)
            self.assertEqual((error, [row[:3] for row in rows]), (0, [("t", 0, 5), ("t", 1, 6)]))
            self.assertEqual(self.fetch(version, None, "other"), (0, []))

    def test_none(self) -> None:
        """An empty list of topics returns no offsets."""
        for version in VERSIONS:
            self.assertEqual(self.fetch(version, {}), (0, []))

    def test_many_groups(self) -> None:
        """Each group has its own answer from version 8 on."""
        self.codes(commit(8, group="h"))
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(name, topics=None) for name in ("h", "other", "g")]
        )
        for version in (8, 9):
            response = self.ask(KEY, version, request)
            self.assertEqual(
                [
                    (g.group_id, g.error_code, [p.committed_offset for t in g.topics for p in t.partitions])
                    for g in response.groups
                ],
                [("h", 0, [8]), ("other", 0, []), ("g", 0, [5, 6])],
            )

    def test_require_stable(self) -> None:
        """A request with require_stable is answered at once, since there are no transactions."""
        request = self.request(7, "g", {"t": [0]})
        request.require_stable = True
        self.assertEqual(self.ask(KEY, 7, request).topics[0].partitions[0].committed_offset, 5)


class RefusalTests(FetchTestCase):
    def test_loading(self) -> None:
        """A group that is loading is an error of each partition in versions 0 and 1, then of the group."""
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self.patch(self.broker.groups, "check", lambda group, may_be_empty=False: loading)
        for version in VERSIONS:
            error, rows = self.fetch(version, {"t": [0, 1]})
            if version < 2:
                self.assertEqual(rows, [("t", n, -1, -1, "", loading) for n in (0, 1)])
            else:
                self.assertEqual((error, rows), (loading, []))

    def test_member_epoch(self) -> None:
        """The group checks the member from version 9 on; earlier versions name none."""
        asked: list[Any] = []

        class FakeGroup:
            def check_fetch(self, member_id: str | None, epoch: int, now_ms: int) -> ErrorCode:
                asked.append((member_id, epoch, now_ms))
                return ErrorCode.STALE_MEMBER_EPOCH if epoch == 3 else ErrorCode.NONE

        put_group(self.broker, FakeGroup(), "g")
        request = self.request(9, "g", {"t": [0]})
        request.groups[0].member_id, request.groups[0].member_epoch = "me", 3
        (refused,) = self.ask(KEY, 9, request).groups
        self.assertEqual((refused.error_code, refused.topics), (ErrorCode.STALE_MEMBER_EPOCH, []))
        (found,) = self.ask(KEY, 8, request).groups
        self.assertEqual((found.error_code, len(found.topics)), (0, 1))
        now_ms = self.broker.groups.now_ms()
        self.assertEqual(asked, [("me", 3, now_ms), (None, -1, now_ms)])

    def test_bug(self) -> None:
        """A bug is answered with UNKNOWN_SERVER_ERROR."""
        self.patch(self.broker.groups, "shard_of", None)
        for version in (1, 7, 9):
            error, rows = self.fetch(version, {"t": [0]})
            code = rows[0][-1] if version < 2 else error
            self.assertEqual(code, ErrorCode.UNKNOWN_SERVER_ERROR)
        self.flushLoggedErrors(TypeError)
