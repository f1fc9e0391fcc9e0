"""ListGroups: all groups, or some."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from tests.broker.members import MembersTestCase

VERSIONS = range(6)


class ListGroupsTests(MembersTestCase):
    def setUp(self) -> None:
        """Three groups: one is stable, one has lost its member, one is about to begin."""
        super().setUp()
        self.settle(group="stable")
        (member,) = self.settle(group="empty")
        self.leave(member, group="empty")
        self.join(group="joining")

    def list(self, version: int = 5, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> Any:
        """The response."""
        return self.ask(16, version, ListGroupsRequest(list(states), list(types)))

    def ids(self, **how: Any) -> set[str]:
        """The ids of the groups."""
        return {group.group_id for group in self.list(**how).groups}

    def test_every_version(self) -> None:
        """All groups, with their states from version 4 on and their types from version 5 on."""
        for version in VERSIONS:
            groups = self.list(version).groups
            self.assertEqual(
                {(g.group_id, g.protocol_type) for g in groups},
                {("stable", "consumer"), ("empty", "consumer"), ("joining", "consumer")},
            )
            if version >= 4:
                states = {g.group_id: g.group_state for g in groups}
                self.assertEqual(
                    states, {"stable": "Stable", "empty": "Empty", "joining": "PreparingRebalance"}
                )
            if version >= 5:
                self.assertEqual({g.group_type for g in groups}, {"classic"})

    def test_states(self) -> None:
        """Only groups in some states; how they are written does not matter."""
        self.assertEqual(self.ids(version=4, states=("Stable",)), {"stable"})
        self.assertEqual(self.ids(states=("stable", "EMPTY")), {"stable", "empty"})
        self.assertEqual(self.ids(states=("nonsense",)), set())

    def test_types(self) -> None:
        """Only groups of some types; both filters hold."""
        self.assertEqual(self.ids(types=("Classic",)), {"stable", "empty", "joining"})
        self.assertEqual(self.ids(types=("consumer",)), set())
        self.assertEqual(self.ids(types=("classic",), states=("Empty",)), {"empty"})

    def test_loading(self) -> None:
        """While some are being loaded those that are there are listed, with an error."""
        self.broker.groups.loading = True
        response = self.list()
        self.assertEqual(response.error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(len(response.groups), 3)
