"""DescribeExplanations: of groups and clients, after a window; its errors and its bound."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.explanations import explanations
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest
from tests.broker.explanations.test_observation import ObservationTestCase


class DescribeExplanationsTests(ObservationTestCase):
    def explain(self, group: str | None = None, client_id: str | None = None) -> Any:
        """Ask, and wait for the window."""
        answer = self.answer(10102, 0, DescribeExplanationsRequest(group, client_id))
        if not isinstance(answer, list):
            self.clock.advance(explanations.WINDOW_S)
            answer = self.successResultOf(answer)
        return self.response(10102, 0, answer)

    def test_group(self) -> None:
        """A group without members that is behind is told of, the heaviest first, with evidence."""
        self.append(10)
        self.commit_offset(4)
        response = self.explain("g")
        self.assertEqual(response.error_code, 0)
        first = response.explanations[0]
        self.assertEqual((first.rule, first.severity), ("no-members", 2))
        self.assertIn("6 records of lag", first.sentence)
        self.assertEqual({one.name: one.value for one in first.evidence}, {"state": "Empty", "lag": "6"})
        weights = [one.severity for one in response.explanations]
        self.assertEqual(weights, sorted(weights, reverse=True))

    def test_client(self) -> None:
        """A client of which nothing is known has sentences as well."""
        found = {one.rule for one in self.explain(None, "app").explanations}
        self.assertEqual(found, {"no-client-metrics", "nothing-found"})

    def test_refused(self) -> None:
        """Both, neither, an empty group, and one that does not exist are refused."""
        for arguments in ((None, None), ("g", "app")):
            self.assertEqual(self.explain(*arguments).error_code, ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.explain("").error_code, ErrorCode.INVALID_GROUP_ID)
        self.assertEqual(self.explain("unknown").error_code, ErrorCode.GROUP_ID_NOT_FOUND)

    def test_bound(self) -> None:
        """Only so many explanations are under way at a time."""
        self.patch(explanations, "MOST_RUNNING", 1)
        request = DescribeExplanationsRequest(None, "app")
        waiting = self.answer(10102, 0, request)
        refused = self.response(10102, 0, self.successResultOf(self.answer(10102, 0, request)))
        self.assertEqual(refused.error_code, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.clock.advance(explanations.WINDOW_S)
        self.successResultOf(waiting)
        self.assertEqual(self.explain(None, "app").error_code, 0)
