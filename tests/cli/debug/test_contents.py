"""The files of a broker in a bundle; a running cluster is in tests/integration."""

from __future__ import annotations

import json
import os
import tarfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.codec import encode
from kafkatx.broker.history.history import History
from kafkatx.broker.sampling.history_file import NAME as HISTORY
from kafkatx.cli.debug.archive import Archive
from kafkatx.cli.debug.contents import add_files, add_versions, lines, tail
from kafkatx.cli.debug.redaction import Redaction
from kafkatx.daemon.process_file import ProcessNote


class ContentsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir with a log file, and a topic with a record."""
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(os.path.join(self.folder, "t-0"))
        self.write("t-0/00000000000000000000.log", "a record")
        self.write("meta.properties", "broker.id=1\n")
        self.write("kafkatx.log", "first line\nlast line\n")

    def write(self, name: str, text: str) -> None:
        """Write a file in the log dir."""
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def gathered(self, settings: dict[str, str]) -> dict[str, str]:
        """Return the texts of an archive with the files."""
        path = os.path.join(self.folder, "bundle.tar.gz")
        with Archive(path, Redaction([settings])) as archive:
            add_versions(archive)
            add_files(archive, settings, self.folder)
        with tarfile.open(path) as found:
            return {
                member.name.split("/", 1)[1]: file.read().decode()
                for member in found
                if (file := found.extractfile(member)) is not None
            }

    def test_files(self) -> None:
        """Log, settings, names and sizes are there; records are not."""
        found = self.gathered({"broker.id": "1", "ssl.key.password": "hunter22"})
        self.assertEqual(found["files/kafkatx.log"], "first line\nlast line\n")
        self.assertEqual(found["files/server.properties"], "broker.id=1\nssl.key.password=[hidden]\n")
        self.assertIn("t-0\tdirectory\n", found["files/log-dir.txt"])
        self.assertIn("kafkatx ", found["versions.txt"])
        self.assertFalse([name for name, text in found.items() if "a record" in text])

    def test_process(self) -> None:
        """Limits and status of the process that the log dir names are there."""
        ProcessNote(os.getpid(), "1", "127.0.0.1:1").write(self.folder)
        found = self.gathered({})
        self.assertIn("Max open files", found["process/limits"])
        self.assertIn("VmRSS", found["process/status"])

    def test_history(self) -> None:
        """The samples of a console are there as numbers; a damaged file is a problem."""
        history = History()
        history.add(5000, {"messages_in": 7.0})
        path = os.path.join(self.folder, HISTORY)
        with open(path, "wb") as file:
            file.write(encode(history))
        first = json.loads(self.gathered({})["files/history.json"].splitlines()[0])
        self.assertEqual((first["step_ms"], first["newest_slot"]), (1000, 5))
        self.assertEqual([value for value in first["series"]["messages_in"] if value is not None], [7.0])
        os.unlink(os.path.join(self.folder, "bundle.tar.gz"))
        self.write(HISTORY, "damaged")
        self.assertIn("files/history.json", self.gathered({})["problems.txt"])

    def test_missing(self) -> None:
        """A file that is missing is a problem, and no error."""
        os.unlink(os.path.join(self.folder, "kafkatx.log"))
        self.assertIn("files/kafkatx.log", self.gathered({})["problems.txt"])

    def test_tail(self) -> None:
        """The end of a long file is taken, from the beginning of a line."""
        path = os.path.join(self.folder, "kafkatx.log")
        self.assertEqual(tail(path, 15), "last line\n")
        self.assertEqual(tail(path, 21), "first line\nlast line\n")

    def test_lines(self) -> None:
        """Objects come a line each, with text for what JSON does not have."""
        self.assertEqual(lines([{"b": 1, "a": {2}}]), '{"a": "{2}", "b": 1}\n')
