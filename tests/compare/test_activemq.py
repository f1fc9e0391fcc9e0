"""ActiveMQ is started with a folder and a port of its own, and is optional."""

from __future__ import annotations

import os
from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.loads import openwire
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.systems import activemq
from benchmarks.compare.systems.activemq import ActiveMq, command, configuration

CORE = "{http://activemq.apache.org/schema/core}"


class ActiveMqTests(SynchronousTestCase):
    def test_configuration(self) -> None:
        """It has one connector, on the loopback; KahaDB is in the folder, and no write waits for the disk."""
        broker = ElementTree.fromstring(configuration("/tmp/a&b", 1234)).find(f"{CORE}broker")
        assert broker is not None
        self.assertEqual(broker.get("dataDirectory"), "/tmp/a&b/data")
        self.assertEqual(
            [(found.tag.replace(CORE, ""), found.attrib) for found in broker.iter() if found is not broker],
            [
                ("persistenceAdapter", {}),
                ("kahaDB", {"directory": "/tmp/a&b/data/kahadb", "journalDiskSyncStrategy": "never"}),
                ("transportConnectors", {}),
                ("transportConnector", {"name": "openwire", "uri": "tcp://127.0.0.1:1234"}),
            ],
        )

    def test_command(self) -> None:
        """The heap is its start script's; what it reads and keeps is in its folder."""
        asked = command("/tmp/x")
        self.assertEqual(asked[:3], ["java", "-Xms512M", "-Xmx512M"])
        self.assertEqual(asked[-4:], ["-jar", activemq.MAIN_JAR, "start", "xbean:file:/tmp/x/activemq.xml"])
        for place in ("base=/tmp/x", "conf=/tmp/x", "data=/tmp/x/data"):
            self.assertIn(f"-Dactivemq.{place}", asked)

    def test_load(self) -> None:
        """A load is of the JMS client; what only librdkafka has is left out."""
        self.patch(openwire, "program", lambda: "/built/ActiveMqLoad.class")
        asked = ActiveMq().load_command(61616, ["consume", "q", 10], {"fetch.message.max.bytes": 1})
        self.assertEqual(
            asked[-6:], [f"/built:{openwire.JARS}", "ActiveMqLoad", "consume", "q", "10", "port=61616"]
        )

    def test_missing(self) -> None:
        """Without the broker it is said what to install."""
        self.patch(activemq, "MAIN_JAR", os.path.join(self.mktemp(), "none"))
        self.assertEqual(
            ActiveMq().missing(),
            "there is no ActiveMQ; on Debian: apt-get install activemq default-jdk-headless",
        )

    def test_no_client(self) -> None:
        """Without the client it is said what to install."""

        def program() -> str:
            raise NotBuilt("on Debian: apt-get install default-jdk-headless")

        self.patch(activemq, "MAIN_JAR", os.devnull)
        self.patch(openwire, "program", program)
        self.assertEqual(ActiveMq().missing(), "on Debian: apt-get install default-jdk-headless")
