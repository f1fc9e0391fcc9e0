"""Twenty kills of brokers of a cluster under load, over a local state and over ZooKeeper."""

from __future__ import annotations

from tests.integration import test_many_brokers

KILLS = 20


class KillTests(test_many_brokers.KillTests):
    """The state is kept by a process of this machine."""

    kills = KILLS


class ZooKeeperKillTests(test_many_brokers.ZooKeeperKillTests):
    """The state is kept by ZooKeeper."""

    kills = KILLS
