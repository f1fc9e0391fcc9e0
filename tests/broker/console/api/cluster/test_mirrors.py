"""Links to other clusters."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from kafkatx.broker.console.kafka_requests import KafkaRequests
from kafkatx.wire.messages.describe_mirrors import (
    Cursor,
    DescribeMirrorsRequest,
    DescribeMirrorsResponse,
    MirrorLink,
    MirrorPartition,
    MirrorTopic,
)
from tests.broker.console.case import ConsoleCase

NAME = "mirror.dc1.promoted"


def partition(number: int, state: str = "mirroring", lag: int = 0) -> MirrorPartition:
    """Return a mirrored partition."""
    return MirrorPartition(
        number, state, "slow" if lag else "", source_end_offset=10, log_end_offset=10 - lag, lag_ms=lag * 100
    )


class MirrorsTests(ConsoleCase):
    def setUp(self) -> None:
        """Make a link, with pages of partitions."""
        super().setUp()
        self.pages = [
            DescribeMirrorsResponse(
                links=[MirrorLink("dc1", "other:9092", "no route", 3, groups_error="away")],
                topics=[MirrorTopic("a", "dc1", [partition(0), partition(1, "paused", 4)])],
                next_cursor=Cursor("b", 0),
            ),
            DescribeMirrorsResponse(topics=[MirrorTopic("b", "dc1", [partition(0, "promoted")])]),
        ]
        real, pages = KafkaRequests.ask, self.pages

        async def ask(kafka: KafkaRequests, call: Any, request: Any, node: Any = None) -> Any:
            if isinstance(request, DescribeMirrorsRequest):
                return pages[0 if request.cursor is None else 1]
            return await real(kafka, call, request, node)

        patched = patch.object(KafkaRequests, "ask", ask)
        patched.start()
        self.addCleanup(patched.stop)

    def test_list(self) -> None:
        """A link is told with its topics: the state is that of the partition that is worst off."""
        (link,) = self.get("/mirrors")["items"]
        self.assertEqual((link["name"], link["source"], link["state"]), ("dc1", "other:9092", "paused"))
        self.assertEqual((link["errors"], link["groups"]), (["broker 0: no route"], 3))
        self.assertEqual(
            link["topics"],
            [
                {
                    "name": "a",
                    "state": "paused",
                    "lag": "4",
                    "lagMs": 400,
                    "partitions": 2,
                    "reason": "slow",
                },
                {
                    "name": "b",
                    "state": "promoted",
                    "lag": "0",
                    "lagMs": 0,
                    "partitions": 1,
                    "reason": None,
                },
            ],
        )

    def test_promote(self) -> None:
        """Topics of a link are promoted if its name is given twice."""
        changing = self.broker.metadata.alter_broker_configs(
            "", lambda old: {"mirror.links": "dc1", "mirror.dc1.bootstrap.servers": "other:9092"}
        )
        self.successResultOf(changing)
        path = "/mirrors/dc1/promote"
        for body, status in (
            ({"topics": ["a"]}, 400),
            ({"topics": ["a"], "confirm": "dc2"}, 400),
            ({"topics": ["c"], "confirm": "dc1"}, 404),
        ):
            self.refused(self.change("POST", path, body, status))
        self.refused(self.change("POST", "/mirrors/dc2/promote", {"confirm": "dc2"}, 404))
        self.change("POST", path, {"topics": ["a"], "confirm": "dc1"})
        self.assertEqual(self.broker.metadata.state.broker_configs[""][NAME], "a")
        self.change("POST", path, {"topics": [], "confirm": "dc1"})
        self.assertEqual(self.broker.metadata.state.broker_configs[""][NAME], ".*")
        told = self.get("/actions")["items"][0]
        self.assertEqual((told["action"], told["resource"]), ("promote mirrors", "link dc1: all topics"))

    def test_none(self) -> None:
        """Without links there is nothing to tell."""
        self.pages[0] = DescribeMirrorsResponse()
        self.assertEqual(self.get("/mirrors"), {"total": 0, "items": []})
