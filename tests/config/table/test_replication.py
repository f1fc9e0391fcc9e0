"""The settings of replication."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table import replication
from kafkatx.config.table.row import LONG_MAX
from kafkatx.errors import SettingError


class ReplicationTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Without a value each setting has Apache Kafka's default."""
        config = BrokerConfig.load(None, {})
        for setting, expected in (
            (replication.REPLICA_LAG_TIME_MAX_MS, 30_000),
            (replication.REPLICA_FETCH_WAIT_MAX_MS, 500),
            (replication.AUTO_LEADER_REBALANCE_ENABLE, True),
            (replication.LEADER_REPLICATION_THROTTLED_RATE, LONG_MAX),
            (replication.INTER_BROKER_LISTENER_NAME, None),
        ):
            self.assertEqual(config[setting], expected, setting.name)

    def test_range(self) -> None:
        """A lag of no time is refused: every follower would leave at once."""
        with self.assertRaisesRegex(SettingError, "replica.lag.time.max.ms=0"):
            BrokerConfig.load(None, {"replica.lag.time.max.ms": "0"})
