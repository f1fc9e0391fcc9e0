"""librdkafka goes through the death of a leader; ``make clients BROKERS=3`` tries the other clients."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.clients.features import PASS
from tests.clients.leader_dies import try_row
from tests.clients.leader_rows import ROWS

COUNT, AWAY_S = 400, 3.0


class LeaderDiesTests(SynchronousTestCase):
    def test_librdkafka(self) -> None:
        """An idempotent producer, and a group that commits."""
        (row,) = [row for row in ROWS if row.name == "confluent-kafka"]
        death = try_row(row, COUNT, AWAY_S)
        self.assertEqual(death.result.result, PASS, f"{death.result.detail}\n{death.log[-20_000:]}")
