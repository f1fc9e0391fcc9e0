"""ListGroups: all groups, or some."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.coordinator.runtime.runtime import CoordinatorRuntime
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from tests.broker.members import MembersTestCase

VERSIONS = range(6)


class ListGroupsTests(MembersTestCase):
    def setUp(self) -> None:
        """Make three groups: one stable, one that lost its member, one preparing its first rebalance."""
        super().setUp()
        self.settle(group="stable")
        (member,) = self.settle(group="empty")
        self.leave(member, group="empty")
        self.join(group="joining")

    def list(self, version: int = 5, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> Any:
        """Return the response."""
        return self.ask(16, version, ListGroupsRequest(list(states), list(types)))

    def ids(self, **how: Any) -> set[str]:
        """Return the ids of the groups."""
        return {group.group_id for group in self.list(**how).groups}

    def test_every_version(self) -> None:
        """All groups are listed, with states from version 4 on and types from version 5 on."""
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
        """Only groups in the given states are listed; their case does not matter."""
        self.assertEqual(self.ids(version=4, states=("Stable",)), {"stable"})
        self.assertEqual(self.ids(states=("stable", "EMPTY")), {"stable", "empty"})
        self.assertEqual(self.ids(states=("nonsense",)), set())

    def test_types(self) -> None:
        """Only groups of the given types are listed; both filters apply."""
        self.assertEqual(self.ids(types=("Classic",)), {"stable", "empty", "joining"})
        self.assertEqual(self.ids(types=("consumer",)), set())
        self.assertEqual(self.ids(types=("classic",), states=("Empty",)), {"empty"})

    def test_loading(self) -> None:
        """The available groups are listed with an error while others are being loaded."""
        self.patch(CoordinatorRuntime, "loading", True)
        response = self.list()
        self.assertEqual(response.error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(len(response.groups), 3)
