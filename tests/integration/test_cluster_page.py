"""``docs/cluster.md`` and the files in ``etc`` that it is about: its commands are run, the files are used."""

from __future__ import annotations

from pathlib import Path

from kafkatx.config import BrokerConfig, Listener
from kafkatx.config.properties import read_properties
from kafkatx.config.table import broker as b
from kafkatx.config.table import zookeeper as z
from kafkatx.testing.zookeeper import ZooKeeperServer
from tests.integration.test_operations import ETC, OperationsCase
from tests.integration.zookeeper import shared_server
from tests.ports import free_port
from tests.test_readme import ROOT, blocks

PAGE = ROOT / "docs/cluster.md"
OURS = ("dataDir", "clientPort", "server.1", "server.2", "server.3")
"""Settings of ``etc/zoo.cfg`` that depend on the hosts."""


class PageTests(OperationsCase):
    def test_trial(self) -> None:
        """The commands of the trial on one machine work, and show what the page says."""
        trial, stopped, _ = self.blocks()
        ports = {"2181/kafka": f"{shared_server().port}/{self.folder.name}", "9092": str(self.port)}
        for port in ("9093", "9094"):
            ports[port] = str(free_port())
        for folder in "abc":
            self.addCleanup(self.stop, self.folder / "data" / folder)
        for theirs, ours in ports.items():
            trial, stopped = trial.replace(theirs, ours), stopped.replace(theirs, ours)
        lines = self.run_text(trial).splitlines()
        status = [line.split("\t") for line in lines if line.startswith(("cluster\t", "broker\t"))]
        self.assertEqual([fields[-1] for fields in status[1:4]], ["live"] * 3)
        self.assertIn("1000", lines)
        leaders = [line.split("\t")[3] for line in lines if line.startswith("partition\t")]
        self.assertEqual(sorted(leaders), ["1001", "1001", "1002", "1002", "1003", "1003"])
        lines = self.run_text(stopped).splitlines()
        clusters = [line.split("\t") for line in lines if line.startswith("cluster\t")]
        self.assertEqual([fields[5] for fields in clusters], ["0", "0"])  # nothing was ever offline
        self.assertEqual([line for line in lines if line.startswith("offline\t")], [])

    def test_older_state(self) -> None:
        """A state that was put back loses no record; the brokers notice it."""
        *_, restored = self.blocks()
        self.addCleanup(self.stop, self.folder / "data")
        printed = self.run_text(restored.replace("--brokers", f"--port {self.port} --brokers"))
        self.assertEqual(printed.splitlines()[-2], "3000")
        self.assertIn("is an older copy", (self.folder / "data/kafkatx.log").read_text())

    def blocks(self) -> list[str]:
        """Return the commands of the page."""
        return [block.text for block in blocks(PAGE.read_text()) if block.language == "sh"]

    def test_broker(self) -> None:
        """The sample of a broker's settings has no mistake, and none that is not used."""
        config = BrokerConfig.load(str(ETC / "cluster.properties"))
        self.assertEqual(config.warnings, ())
        self.assertEqual(config[b.KAFKATX_METADATA_STORE], "zookeeper")
        self.assertEqual((config[z.ZOOKEEPER_CONNECT] or "").count(","), 2)
        self.assertIs(config.used_name(b.BROKER_ID), None)
        self.assertEqual(config.listeners(), (Listener("PLAINTEXT", "0.0.0.0", 9092),))

    def test_zookeeper(self) -> None:
        """A server starts with the sample of ZooKeeper's settings; three are named in it."""
        sample = read_properties(str(ETC / "zoo.cfg"))
        self.assertLessEqual(set(OURS), sample.keys())
        settings = {name: value for name, value in sample.items() if name not in OURS}
        server = ZooKeeperServer(Path(self.mktemp()), free_port(), settings=settings)
        self.addCleanup(server.kill)
        server.start()
        server.wait()
        self.assertEqual(server.mode(), "standalone")

    def test_settings(self) -> None:
        """Every setting that the page names exists."""
        config = BrokerConfig.load()
        for name in ("zookeeper.ssl.keystore.password", "kafkatx.zookeeper.jaas.file", "zookeeper.set.acl"):
            self.assertIn(f"`{name}", PAGE.read_text())
            config.get(name)
