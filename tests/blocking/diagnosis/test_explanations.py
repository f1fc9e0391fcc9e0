"""Explanations of the right brokers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.diagnosis.explanations import Explanations
from kafkatx.blocking.diagnosis.own_requests import NotKafkatx
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest
from tests.blocking.fake_explanations import FakeExplanations, entry


class ExplanationsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers that explain."""
        self.fake = FakeExplanations(brokers=2)
        self.fake.said = {1: [entry("a", 0)], 2: [entry("b", 2)]}
        self.explanations = Explanations(self.fake.client(retries=3))

    def test_group(self) -> None:
        """The coordinator of a group is asked, and again if it has moved."""
        self.fake.faults[DescribeExplanationsRequest].append(ErrorCode.NOT_COORDINATOR)
        said = self.explanations.of_group("g")
        self.assertEqual((said.broker, [one.rule for one in said.entries]), (2, ["b"]))
        asked = self.fake.sent(DescribeExplanationsRequest)
        self.assertEqual([(one.group_id, one.client_id) for one in asked], [("g", None)] * 2)

    def test_client(self) -> None:
        """Every broker is asked about a client."""
        said = self.explanations.of_client("app")
        self.assertEqual([(one.broker, one.entries[0].rule) for one in said], [(1, "a"), (2, "b")])

    def test_notes_of_all(self) -> None:
        """A note that only some brokers have of a client is no news; one of all is said once."""
        silent, nothing = entry("no-client-metrics", 0), entry("nothing-found", 0)
        self.fake.said = {1: [silent, nothing], 2: [nothing]}
        said = self.explanations.of_client("app")
        self.assertEqual([[one.rule for one in each.entries] for each in said], [["nothing-found"], []])
        self.fake.said = {1: [silent], 2: [silent, entry("saturated", 2)]}
        said = self.explanations.of_client("app")
        rules = [[one.rule for one in each.entries] for each in said]
        self.assertEqual(rules, [["no-client-metrics"], ["saturated"]])

    def test_refused(self) -> None:
        """A refusal is raised."""
        self.fake.faults[DescribeExplanationsRequest].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, self.explanations.of_group, "g")
        self.assertEqual(error.code, ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def test_foreign(self) -> None:
        """A broker that closes the connection is not kafkatx."""
        self.fake.foreign = {2}
        for ask in (self.explanations.of_group, self.explanations.of_client):
            error = self.assertRaises(NotKafkatx, ask, "x")
            self.assertIn("broker2:9092", str(error))
