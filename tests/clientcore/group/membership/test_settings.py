"""Tests of kafkatx.clientcore.group.membership.settings."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, STICKY, Assignor
from kafkatx.clientcore.group.membership import MemberSettings
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import SettingError


def load(**values: object) -> MemberSettings:
    """Load a consumer's settings."""
    return MemberSettings.of(ClientSettings.load("consumer", {"bootstrap_servers": "broker1", **values}))


class MemberSettingsTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Settings are read by Kafka's names; what is empty is None."""
        settings = load(
            group_id="g",
            group_instance_id="one",
            session_timeout_ms=9000,
            heartbeat_interval_ms=1000,
            max_poll_interval_ms=60_000,
            client_rack="r1",
            retry_backoff_ms=7,
        )
        self.assertEqual((settings.group_id, settings.group_instance_id, settings.rack), ("g", "one", "r1"))
        self.assertEqual((settings.session_timeout_ms, settings.heartbeat_interval_ms), (9000, 1000))
        self.assertEqual((settings.max_poll_interval_ms, settings.backoff.first_ms), (60_000, 7))
        plain = load(group_id="g")
        self.assertEqual((plain.group_instance_id, plain.rack), (None, None))

    def test_assignors(self) -> None:
        """Assignors are found by name; an object is one by itself."""
        self.assertEqual(load(group_id="g").assignors, (RANGE, COOPERATIVE_STICKY))
        chosen = load(group_id="g", partition_assignment_strategy="sticky,range")
        self.assertEqual(chosen.assignors, (STICKY, RANGE))
        own = Assignor("own", lambda members, partitions: {})
        self.assertEqual(load(group_id="g", partition_assignment_strategy=own).assignors, (own,))

    def test_cooperative(self) -> None:
        """Rebalances are cooperative only if all assignors are."""
        for assignors, cooperative in (
            ((RANGE,), False),
            ((RANGE, COOPERATIVE_STICKY), False),
            ((COOPERATIVE_STICKY,), True),
        ):
            self.assertIs(MemberSettings("g", assignors=assignors).cooperative, cooperative)

    def test_errors(self) -> None:
        """A consumer without a group, or with too slow heartbeats, has no membership."""
        for values, words in (
            ({}, "group.id is not set"),
            ({"group_id": ""}, "group.id is not set"),
            (
                {"group_id": "g", "heartbeat_interval_ms": 9000, "session_timeout_ms": 9000},
                "heartbeat.interval.ms=9000: it must be less than session.timeout.ms, 9000",
            ),
        ):
            self.assertIn(words, str(self.assertRaises(SettingError, load, **values)))
