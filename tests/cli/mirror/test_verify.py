"""Tests of ``kafkatx mirror verify``."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path

from kafkatx.blocking import Cluster
from kafkatx.cli.mirror import verify
from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState
from tests.blocking.admin.test_mirror_check import log
from tests.blocking.fake_mirrors import FakeMirrors
from tests.cli.command_case import CommandCase


class VerifyTests(CommandCase):
    def setUp(self) -> None:
        """Two clusters; the one at copy:1 mirrors two topics of the one at source:1."""
        super().setUp()
        self.copy = FakeMirrors({"t": [log(2), log(3)], "u": [log(1)]})
        self.copy.links = {1: [LinkStatus("dc1", "source:1")]}
        self.copy.mirrored = {
            1: [MirrorStatus("dc1", "t", 0, "mirroring"), MirrorStatus("dc1", "u", 0, "paused")]
        }
        self.source = FakeMirrors({"t": [log(2, 1), log(3)], "u": [log(1)]})
        self.clusters = {"copy:1": self.copy, "source:1": self.source}
        self.properties: dict[str, Mapping[str, str] | None] = {}
        self.patch(verify, "connect", self.connect)

    def connect(self, bootstrap: str, timeout: float, properties: Mapping[str, str] | None = None) -> Cluster:
        """Return a client of a cluster, and note the settings of its connections."""
        self.properties[bootstrap] = properties
        return self.clusters[bootstrap].client()

    def verify(self, *arguments: str) -> int:
        """Run the command; return its exit code."""
        return self.run_command("mirror", "verify", "-b", "copy:1", *arguments)

    def test_link(self) -> None:
        """All partitions of a link are compared with the source that its brokers name."""
        self.assertEqual(self.verify("dc1"), 0)
        size = len(log(2).batches[0]), len(log(1).batches[0])
        self.assertEqual(
            self.out.text(),
            f"partition\tt\t0\t0\t2\t1\t{size[0]}\t0\t0\npartition\tu\t0\t0\t1\t1\t{size[1]}\t0\t0\n",
        )
        self.assertEqual(self.err.text(), "2 partitions, 2 batches compared, 0 differences\n")

    def test_topics(self) -> None:
        """Topics and partitions can be named, with the source."""
        self.assertEqual(self.verify("--source", "source:1", "-t", "t"), 0)
        self.assertEqual(
            [line.split("\t")[1:3] for line in self.out.text().splitlines()], [["t", "0"], ["t", "1"]]
        )
        self.use_streams()
        self.assertEqual(self.verify("--source", "source:1", "-t", "t:1"), 0)
        self.assertEqual(len(self.out.text().splitlines()), 1)

    def test_config_file(self) -> None:
        """The source may be in a properties file, with settings of its own; one without it is refused."""
        path = Path(self.mktemp())
        path.write_text("bootstrap.servers=source:1\nsecurity.protocol=SSL\n")
        self.assertEqual(self.verify("dc1", "--source-config", str(path)), 0)
        source = {"bootstrap.servers": "source:1", "security.protocol": "SSL"}
        self.assertEqual(self.properties, {"copy:1": None, "source:1": source})
        path.write_text("client.id=x\n")
        self.assertEqual(self.verify("dc1", "--source-config", str(path)), 1)
        self.assertIn("bootstrap.servers is missing", self.err.text())

    def test_different(self) -> None:
        """Differences are listed, and are the exit code."""
        self.copy.topics["t"][1] = log(3, word="other")
        self.assertEqual(self.verify("--source", "source:1", "-t", "t"), 1)
        *_, last = self.out.text().splitlines()
        self.assertEqual(last, "difference\tt\t1\t0\t2\tthe records differ (other checksums)")
        self.assertIn("2 partitions, 2 batches compared, 1 difference", self.err.text())

    def test_json(self) -> None:
        """An object a partition has its counts and differences."""
        self.copy.topics["t"][1] = log(3, word="other")
        self.verify("--source", "source:1", "-t", "t", "--json")
        good, bad = map(json.loads, self.out.text().splitlines())
        self.assertEqual((good["topic"], good["partition"], good["different"], good["end"]), ("t", 0, 0, 2))
        self.assertEqual(bad["differences"][0]["last_offset"], 2)

    def test_terminal(self) -> None:
        """A person gets tables."""
        self.copy.topics["t"][0] = log(2, word="other")
        self.use_streams(tty=True)
        self.assertEqual(self.verify("dc1"), 1)
        self.assertIn("compacted", self.out.text())
        self.assertIn("differences", self.out.text())

    def test_promoted(self) -> None:
        """Records that a promoted topic has got since its promotion are left out."""
        self.copy.topics["u"][0] = log(1, 5)
        self.assertEqual(self.verify("dc1"), 1)
        record = MirrorRecord("dc1", uuid.UUID(int=1), MirrorState.PROMOTED, ends=(1,))
        self.copy.settings[2, "u"] = {KAFKATX_MIRROR: record.text()}
        self.use_streams()
        self.assertEqual(self.verify("dc1"), 0, self.err.text())

    def test_unknown_link(self) -> None:
        """A link that no broker knows is an error that says what to do."""
        self.assertEqual(self.verify("other"), 1)
        self.assertIn(
            "there is no link 'other' in this cluster: name the source by --source", self.err.text()
        )

    def test_usage(self) -> None:
        """The source must be given once, and something to compare."""
        self.assertEqual(self.verify(), 2)
        self.assertEqual(self.verify("-t", "t"), 2)
        self.assertEqual(self.verify("--source", "source:1"), 2)
        self.assertEqual(self.verify("dc1", "--source", "a:1", "--source-config", "f"), 2)
