"""DeleteGroups: groups without members are deleted with all of their records."""

from __future__ import annotations

import errno

from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from tests.broker.coordinated import groups_of, offsets_of, partition_of
from tests.broker.members import MembersTestCase

VERSIONS = range(3)


class DeleteGroupsTests(MembersTestCase):
    def delete(self, *groups: str, version: int = 2) -> list[tuple[str, ErrorCode]]:
        """Return the results."""
        results = self.ask(42, version, DeleteGroupsRequest(list(groups))).results
        return [(result.group_id, ErrorCode.of(result.error_code)) for result in results]

    def make_empty(self, group: str = "g") -> None:
        """Make a group that has lost its member, and has an offset."""
        (member,) = self.settle(group=group)
        self.leave(member, group=group)
        offsets_of(self.broker, group).set(group, "t", 0, Committed(5))

    def values(self) -> list[bytes | None]:
        """Return all values in ``__consumer_offsets``."""
        return [value for number in range(3) for value in self.stored(CONSUMER_OFFSETS, number)]

    def test_every_version(self) -> None:
        """A group without members is deleted; its tombstone and its offset's are in the log."""
        for version in VERSIONS:
            self.make_empty()
            before = len(self.values())
            self.assertEqual(self.delete("g", version=version), [("g", ErrorCode.NONE)])
            self.assertEqual(groups_of(self.broker), {})
            self.assertEqual(offsets_of(self.broker, "g").of("g"), {})
            self.assertEqual(self.values()[before:], [None, None])

    def test_refused(self) -> None:
        """A group with members, an unknown group and an empty name are refused; others are deleted."""
        self.settle(group="busy")
        self.make_empty()
        self.assertEqual(
            self.delete("busy", "other", "", "g", "g"),
            [
                ("busy", ErrorCode.NON_EMPTY_GROUP),
                ("other", ErrorCode.GROUP_ID_NOT_FOUND),
                ("", ErrorCode.GROUP_ID_NOT_FOUND),
                ("g", ErrorCode.NONE),
            ],
        )
        self.assertEqual(list(groups_of(self.broker)), ["busy"])

    def test_not_written(self) -> None:
        """A group whose tombstones cannot be written stays as it was."""
        self.make_empty()

        def fail() -> None:
            log.truncate_to(log.log_end_offset)  # drops the staged records
            raise OSError(errno.ENOSPC, "No space left on device")

        log = partition_of(self.broker, "g").log
        self.patch(log, "write", fail)
        self.assertEqual(self.delete("g"), [("g", ErrorCode.NOT_COORDINATOR)])
        self.assertEqual(list(groups_of(self.broker)), ["g"])
        self.assertEqual(offsets_of(self.broker, "g").get("g", "t", 0), Committed(5))

    def test_loading(self) -> None:
        """A group that may be about to be loaded is not deleted."""
        self.make_empty()
        self.set_loading()
        self.assertEqual(self.delete("g"), [("g", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)])
        self.assertIn("g", groups_of(self.broker))
