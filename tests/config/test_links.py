"""The settings of links as values, and their layers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, ConfigSource, describe_all_brokers, describe_broker
from kafkatx.config.links import LinkSettings, link_settings

LINK = {
    "mirror.links": "dc1",
    "mirror.dc1.bootstrap.servers": "kafka:9092, other:9093",
    "mirror.dc1.topics": "orders|clicks",
    "mirror.dc1.groups": "g.*",
    "mirror.dc1.rate.bytes": "1000",
    "mirror.dc1.paused": "clicks",
    "mirror.dc1.promoted": "orders",
    "mirror.dc1.refresh.interval.ms": "200",
    "mirror.dc1.groups.interval.ms": "300",
    "mirror.dc1.client.id": "mirror",
    "mirror.dc1.request.timeout.ms": "4000",
}


class LinkSettingsTests(SynchronousTestCase):
    def test_every_setting(self) -> None:
        """Each setting reaches its field; client settings are kept as text, without the prefix."""
        found = link_settings(BrokerConfig.load(None, LINK))
        wanted = LinkSettings(
            "dc1",
            ("kafka:9092", "other:9093"),
            "orders|clicks",
            "g.*",
            1000,
            "clicks",
            "orders",
            {"client.id": "mirror", "request.timeout.ms": "4000"},
            200,
            300,
        )
        self.assertEqual(found, {"dc1": wanted})

    def test_defaults(self) -> None:
        """A link without settings mirrors nothing from nowhere; without links there are none."""
        found = link_settings(BrokerConfig.load(None, {"mirror.links": "b,a"}))
        self.assertEqual(list(found), ["b", "a"])
        self.assertEqual(found["a"], LinkSettings("a", (), "", ".*", None, "", "", {}))
        self.assertEqual(link_settings(BrokerConfig.load()), {})

    def test_dynamic(self) -> None:
        """Dynamic settings of all brokers go before the file's, one by one."""
        start = BrokerConfig.load(None, {"mirror.links": "dc1", "mirror.dc1.topics": "a"})
        config = start.with_dynamic({"mirror.dc1.paused": "a", "mirror.dc1.topics": "b"}, {})
        link = link_settings(config)["dc1"]
        self.assertEqual((link.topics, link.paused), ("b", "a"))
        self.assertEqual(link_settings(config.with_dynamic({}, {}))["dc1"].topics, "a")

    def test_reloaded(self) -> None:
        """A file that is read again may change, add and remove them while the broker runs."""
        start = BrokerConfig.load(None, {"mirror.links": "dc1", "mirror.dc1.topics": "a"})
        read = BrokerConfig.load(None, {"mirror.links": "dc1", "mirror.dc1.groups": "g"})
        reloaded = start.reloaded(read)
        self.assertEqual(reloaded.changed, ("mirror.dc1.topics", "mirror.dc1.groups"))
        link = link_settings(reloaded.config)["dc1"]
        self.assertEqual((link.topics, link.groups), ("", "g"))

    def test_warnings(self) -> None:
        """A link without a source, and settings without a link, are no error but worth a line."""
        config = BrokerConfig.load(None, {"mirror.links": "dc1", "mirror.dc2.topics": "a"})
        self.assertEqual(
            config.warnings,
            (
                "mirror.links=dc1: mirror.dc1.bootstrap.servers is not set, so the link dc1 does nothing",
                "mirror.dc2.*: not used unless mirror.links has dc2, here or as a dynamic setting",
            ),
        )
        self.assertEqual(BrokerConfig.load(None, LINK).warnings, ())


class DescribeTests(SynchronousTestCase):
    def test_described(self) -> None:
        """Settings of links are listed where they are set, in the order of the table."""
        config = BrokerConfig.load(None, {"mirror.dc1.topics": "a"}).with_dynamic(
            {"mirror.links": "dc1", "mirror.dc1.rate.bytes": "5", "mirror.dc1.topics": "b"}, {}
        )
        found = {entry.name: entry for entry in describe_all_brokers(config)}
        names = [name for name in found if name.startswith("mirror")]
        self.assertEqual(names, ["mirror.links", "mirror.dc1.topics", "mirror.dc1.rate.bytes"])
        topics = {entry.name: entry for entry in describe_broker(config)}["mirror.dc1.topics"]
        self.assertEqual((topics.value, topics.read_only), ("b", False))
        self.assertEqual(topics.source, ConfigSource.DYNAMIC_DEFAULT_BROKER)
        self.assertIn(("mirror.dc1.topics", "a", ConfigSource.STATIC_BROKER), topics.synonyms)
