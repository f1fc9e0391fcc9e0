"""Tests of the settings of a connection to ZooKeeper."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings


class SettingsTests(SynchronousTestCase):
    def test_chroot(self) -> None:
        """Servers and chroot are told apart; a slash alone is no chroot."""
        for connect, hosts, chroot in (
            ("a:1,b:2/kafka/x", "a:1,b:2", "/kafka/x"),
            ("[::1]:2181/", "[::1]:2181", ""),
            ("a", "a", ""),
        ):
            settings = ZooKeeperSettings(connect)
            self.assertEqual((settings.hosts, settings.chroot), (hosts, chroot))
