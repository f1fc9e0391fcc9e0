"""Examinations of files, and of a cluster that answers nothing."""

from __future__ import annotations

import os
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.doctor.examination import examine_cluster, examine_files
from kafkatx.cli.doctor.result import Level
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.nodes import BrokerNode
from kafkatx.tls.authority import make_authority


class FilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir and a settings file."""
        self.folder = os.path.abspath(self.mktemp())
        self.data = os.path.join(self.folder, "data")
        os.makedirs(self.data)

    def write(self, *lines: str) -> str:
        """Write a settings file; return its path."""
        path = os.path.join(self.folder, "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join((f"log.dirs={self.data}", *lines)))
        return path

    def found(self, *lines: str) -> dict[str, tuple[Level, str]]:
        """Return level and sentence of what is not in order, by check."""
        every = examine_files(self.write(*lines), {})
        machine = ("open-files", "disk", "inodes", "swap", "dirty-ratio", "huge-pages")
        return {
            one.check: (one.level, one.sentence)
            for one in every
            if one.level is not Level.OK and one.check not in machine
        }

    def test_in_order(self) -> None:
        """Nothing is wrong with good settings and an empty log dir."""
        self.assertEqual(self.found(), {})

    def test_settings(self) -> None:
        """Settings that a broker refuses are a fault, those that it does not use a hint."""
        level, sentence = self.found("num.partition=3")["settings"]
        self.assertIs(level, Level.WRONG)
        self.assertIn("num.partition", sentence)
        self.assertEqual(self.found("num.io.threads=8")["settings"][0], Level.HINT)
        self.assertEqual(self.found("authorizer.class.name=learn")["learn-mode"][0], Level.WRONG)

    def test_log_dir(self) -> None:
        """A log dir is told of that is missing, has stray logs, or was not closed."""
        for name in ("meta.properties", "t-0.0123456789abcdef0123456789abcdef-stray"):
            os.makedirs(os.path.join(self.data, name))
        found = self.found()
        self.assertEqual(
            {check: level for check, (level, _) in found.items()},
            {"stray-logs": Level.HINT, "clean-shutdown": Level.HINT},
        )
        self.assertIn("-stray", found["stray-logs"][1])
        self.data = os.path.join(self.folder, "none")
        self.assertIn("does not exist", self.found()["log-dirs"][1])

    def test_certificate(self) -> None:
        """A certificate that ends soon is told of; a keystore that cannot be read is a fault."""
        issued = make_authority("soon", days=20)
        keystore = os.path.join(self.folder, "keystore.pem")
        with open(keystore, "wb") as file:
            file.write(issued.keystore_pem())
        lines = ("listeners=SSL://127.0.0.1:9093", f"ssl.keystore.location={keystore}")
        level, sentence = self.found(*lines)["certificates"]
        self.assertIs(level, Level.HINT)
        self.assertIn("listener SSL", sentence)
        with open(keystore, "wb") as file:
            file.write(b"garbage")
        self.assertIs(self.found(*lines)["certificates"][0], Level.WRONG)


class _Silent:
    """A cluster that knows a broker and answers nothing else."""

    def metadata(self, topics: Any) -> Any:
        """Return one broker, or refuse."""
        if topics is None:
            raise self.error()
        node = BrokerNode(7, "no-such-host.invalid", 1)
        return type("Found", (), {"brokers": {7: node}})()

    def error(self) -> RequestError:
        """Return the error of all else."""
        return RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "not you")

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise self.error()

        return refuse


class ClusterTests(SynchronousTestCase):
    def test_refused(self) -> None:
        """Checks that are refused are hints, and do not end the examination."""
        silent: Any = _Silent()
        found = [*examine_cluster(silent, sleep=lambda _: None)]
        levels = {one.check: one.level for one in found}
        self.assertEqual(levels.pop("addresses"), Level.WRONG)
        self.assertEqual(set(levels.values()), {Level.HINT})
        self.assertEqual(
            set(levels), {"partitions", "log-dirs", "settings", "machine", "hanging-transactions", "groups"}
        )
        self.assertTrue(all("not you" in one.sentence for one in found if one.level is Level.HINT))
