"""Tests of kafkatx.blocking.coordinators."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.connection import Channel
from kafkatx.blocking.coordinators import Coordinators
from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups


class CoordinatorsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers; the second coordinates the group."""
        self.fake = FakeGroups(brokers=2, groups={"g": FakeGroup(coordinator=2)})
        self.coordinators = Coordinators(self.fake.client(retries=3))

    def host(self, channel: Channel) -> str:
        """Return the broker that was asked; NOT_COORDINATOR from a wrong one."""
        group = self.fake.groups["g"]
        check(0 if channel.host == f"broker{group.coordinator}" else ErrorCode.NOT_COORDINATOR, "group")
        return channel.host

    def test_remembered(self) -> None:
        """The coordinator is looked up once."""
        for _ in range(2):
            self.assertEqual(self.coordinators.call("g", self.host), "broker2")
        self.assertEqual(len(self.fake.sent(FindCoordinatorRequest)), 1)
        self.assertEqual((self.fake.sent(FindCoordinatorRequest)[0].key), "g")

    def test_moved(self) -> None:
        """A group that another broker coordinates now is looked up anew."""
        self.coordinators.call("g", self.host)
        self.fake.groups["g"].coordinator = 1
        self.assertEqual(self.coordinators.call("g", self.host), "broker1")
        self.assertEqual(self.fake.slept, [0.1])

    def test_lost_connection(self) -> None:
        """A coordinator that went down is looked up anew."""
        self.coordinators.call("g", self.host)
        for channel in self.fake.channels:
            channel.close()
        self.fake.down = {2}
        self.fake.groups["g"].coordinator = 1
        self.assertEqual(self.coordinators.call("g", self.host), "broker1")

    def test_not_available_yet(self) -> None:
        """The very first question is asked again while there is no coordinator: it is being made."""
        faults = [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        self.fake.faults[FindCoordinatorRequest].extend(faults)
        self.assertEqual(self.coordinators.call("g", self.host), "broker2")
        self.assertEqual(self.fake.slept, [0.1, 0.2])

    def test_retries_end(self) -> None:
        """A group that stays unavailable is an error that names it."""
        self.fake.faults[FindCoordinatorRequest].extend([ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9)
        error = self.assertRaises(RequestError, self.coordinators.call, "g", self.host)
        self.assertEqual(str(error), "the coordinator of group 'g': coordinator not available")
        self.assertEqual(len(self.fake.slept), 3)

    def test_final_error(self) -> None:
        """An error that will not pass is raised at once."""
        self.fake.faults[FindCoordinatorRequest].append(ErrorCode.INVALID_GROUP_ID)
        self.assertRaises(RequestError, self.coordinators.call, "", self.host)
        self.assertEqual(self.fake.slept, [])
