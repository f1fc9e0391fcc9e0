"""A cluster in memory whose brokers explain."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.clientcore.errors import ClosedByPeer
from kafkatx.wire.messages import describe_explanations as m
from kafkatx.wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from tests.blocking.fakes import FakeCluster


def entry(rule: str, severity: int, sentence: str = "It is slow.", advice: str = "") -> m.ExplanationEntry:
    """Return a sentence with some evidence."""
    return m.ExplanationEntry(rule, severity, sentence, advice, [m.Evidence("lag", "7")])


@attrs.define(eq=False)
class FakeExplanations(FakeCluster):
    """Brokers that explain; broker 2 coordinates all groups. ``foreign`` ones close the connection."""

    said: dict[int, list[m.ExplanationEntry]] = attrs.Factory(dict)
    foreign: set[int] = attrs.Factory(set)

    def answer_find_coordinator(self, node: int, request: Any, version: int, error: int) -> Any:
        """Return broker 2."""
        found = Coordinator(request.key, 2, "broker2", 9092)
        return FindCoordinatorResponse(
            node_id=2, host="broker2", port=9092, error_code=error, coordinators=[found]
        )

    def answer_describe_explanations(self, node: int, request: Any, version: int, error: int) -> Any:
        """Return what a broker says."""
        if node in self.foreign:
            raise ClosedByPeer(f"broker{node} closed the connection")
        return m.DescribeExplanationsResponse(0, error, "for a test", self.said.get(node, []))
