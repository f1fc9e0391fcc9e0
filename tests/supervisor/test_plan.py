"""The plan of several brokers: ids, ports, directories, and settings that are not for several."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.supervisor.plan import Plan, make_plan, with_addresses


def plan(count: int, past: int | None = None, /, **settings: str) -> Plan:
    """Plan brokers with some settings, whose names have ``_`` for ``.``.

    :param past: id of the broker that has used the log dirs.
    """
    named = {name.replace("_", "."): value for name, value in settings.items()}
    config = BrokerConfig.load(None, {"log.dirs": "/data", **named})
    return make_plan(config, count, past, "here")


def configs(planned: Plan, **settings: str) -> list[BrokerConfig]:
    """Return the settings of each broker as its process reads them."""
    named = [(name.replace("_", "."), value) for name, value in settings.items()]
    brokers = with_addresses(planned, 9092, "/data/socket").brokers
    return [BrokerConfig.load(None, [*named, *each.overrides]) for each in brokers]


class PlanTests(SynchronousTestCase):
    def found(self, planned: Plan, name: str, **settings: str) -> list[object]:
        """Return the value of a setting of each broker."""
        return [each.get(name) for each in configs(planned, **settings)]

    def refused(self, count: int, **settings: str) -> str:
        """Return why settings are not for several brokers."""
        return str(self.assertRaises(SettingError, plan, count, **settings))

    def test_plain(self) -> None:
        """Brokers 1 to N have a port and a folder each, and share the state and the bootstrap port."""
        planned = plan(3)
        self.assertEqual((planned.directory, planned.local, planned.host), ("/data", True, "127.0.0.1"))
        self.assertEqual([each.name for each in planned.brokers], ["1", "2", "3"])
        self.assertEqual(self.found(planned, "broker.id"), [1, 2, 3])
        self.assertEqual(self.found(planned, "log.dirs"), [("/data/1",), ("/data/2",), ("/data/3",)])
        ports = [each.listeners()[0].port for each in configs(planned)]
        self.assertEqual(ports, [9093, 9094, 9095])
        self.assertEqual(self.found(planned, "kafkatx.bootstrap.port"), [9092] * 3)
        self.assertEqual(self.found(planned, "kafkatx.metadata.store"), ["local"] * 3)
        self.assertEqual(self.found(planned, "kafkatx.local.socket"), ["/data/socket"] * 3)

    def test_http_ports(self) -> None:
        """The HTTP ports of the brokers follow each other, so that they stay; port 0 stays any free port."""
        settings = {"http_listeners": "HTTP://127.0.0.1:8081"}
        listeners = [each.http_listeners() for each in configs(plan(3, **settings), **settings)]
        self.assertEqual([one.port for (one,) in listeners], [8081, 8082, 8083])
        settings = {"http_listeners": "HTTP://127.0.0.1:0"}
        self.assertEqual(
            [each.http_listeners()[0].port for each in configs(plan(2, **settings), **settings)], [0, 0]
        )

    def test_free_ports(self) -> None:
        """Port 0 stays any free port."""
        planned = plan(2, listeners="PLAINTEXT://127.0.0.1:0")
        self.assertEqual(planned.port, 0)
        self.assertEqual([each.listeners()[0].port for each in configs(planned)], [0, 0])

    def test_several_dirs(self) -> None:
        """Each broker has a folder in each of log.dirs."""
        planned = plan(2, log_dirs="/a,/b")
        self.assertEqual(self.found(planned, "log.dirs"), [("/a/1", "/b/1"), ("/a/2", "/b/2")])
        self.assertEqual(planned.directory, "/a")

    def test_taken_over(self) -> None:
        """Log dirs that one broker has used stay that broker's, and its id, too."""
        for past_id, ids in ((1, [1, 2, 3]), (2, [1, 2, 3]), (0, [0, 2, 3]), (77, [77, 2, 3])):
            planned = plan(3, past_id, log_dirs="/a,/b")
            self.assertEqual(self.found(planned, "broker.id"), ids)
            kept = {each: ("/a", "/b") for each in ids if each == past_id}
            folders = [kept.get(each, (f"/a/{each}", f"/b/{each}")) for each in ids]
            self.assertEqual(self.found(planned, "log.dirs"), folders)

    def test_given_id(self) -> None:
        """A broker.id that is set, by any name, is the first one's."""
        for name in ("broker_id", "node_id"):
            planned = plan(2, **{name: "5"})
            self.assertEqual(self.found(planned, "broker.id", **{name: "5"}), [5, 6])

    def test_other_names(self) -> None:
        """Settings by old names go behind those of the plan."""
        old = {"log_dir": "/old", "brokerid": "3", "host_name": "127.0.0.1", "port": "9000"}
        config = BrokerConfig.load(None, {name.replace("_", "."): value for name, value in old.items()})
        planned = make_plan(config, 2, None)
        self.assertEqual(self.found(planned, "log.dirs", **old), [("/old/3",), ("/old/4",)])
        self.assertEqual([each.listeners()[0].port for each in configs(planned, **old)], [9001, 9002])

    def test_advertised(self) -> None:
        """Advertised ports are counted up as the ports are."""
        settings = {
            "listeners": "A://:9092,B://127.0.0.1:9192",
            "advertised_listeners": "A://kafka.example.org:30000,B://127.0.0.1:0",
            "listener_security_protocol_map": "A:PLAINTEXT,B:PLAINTEXT",
        }
        planned = plan(2, **settings)
        self.assertEqual((planned.host, planned.advertised), ("", "kafka.example.org"))
        found = [each.advertised([1, 2]) for each in configs(planned, **settings)]
        self.assertEqual(found, [("kafka.example.org", 30001), ("kafka.example.org", 30002)])
        old = {"advertised_host_name": "h", "advertised_port": "100"}
        found = [each.advertised([1]) for each in configs(plan(2, **old), **old)]
        self.assertEqual(found, [("h", 101), ("h", 102)])

    def test_zookeeper(self) -> None:
        """Brokers on ZooKeeper have this machine's name as rack, and ids that are generated."""
        settings = {"zookeeper_connect": "zk:2181/kafka"}
        planned = plan(2, **settings)
        self.assertFalse(planned.local)
        self.assertEqual([each.name for each in planned.brokers], ["1", "2"])
        for config in configs(planned, **settings):
            self.assertNotIn("broker.id", config.explicit)
            self.assertNotIn("kafkatx.local.socket", config.explicit)
            self.assertEqual(config.get("broker.rack"), "here")
            self.assertEqual(config.get("kafkatx.metadata.store"), "zookeeper")
        self.assertEqual(self.found(planned, "log.dirs", **settings), [("/data/1",), ("/data/2",)])
        given = {**settings, "broker_id": "3", "broker_rack": "r"}
        planned = plan(2, **given)
        self.assertEqual(self.found(planned, "broker.id", **given), [3, 4])
        self.assertEqual(self.found(planned, "broker.rack", **given), ["r", "r"])

    def test_zookeeper_takes_over(self) -> None:
        """On ZooKeeper the first broker takes used log dirs over; its id is in them."""
        planned = plan(2, 1001, zookeeper_connect="zk")
        found = self.found(planned, "log.dirs", zookeeper_connect="zk")
        self.assertEqual(found, [("/data",), ("/data/2",)])
        self.assertNotIn("broker.id", dict(planned.brokers[0].overrides))

    def test_refused(self) -> None:
        """Settings that are for one broker only are refused by name."""
        self.assertIn("kafkatx.storage=memory", self.refused(2, kafkatx_storage="memory"))
        self.assertIn("kafkatx.metadata.store=mine", self.refused(2, kafkatx_metadata_store="mine"))
        self.assertIn("up to 65537", self.refused(3, listeners="PLAINTEXT://127.0.0.1:65534"))
        near = {
            "listeners": "A://127.0.0.1:9092,B://127.0.0.1:9094",
            "listener_security_protocol_map": "A:PLAINTEXT,B:PLAINTEXT",
        }
        self.assertIn("listen at port 9095 twice", self.refused(3, **near))

    def test_relative(self) -> None:
        """A relative directory is made absolute, since a broker's process may work elsewhere."""
        planned = plan(1, log_dirs="data")
        self.assertEqual(planned.directory, os.path.abspath("data"))
