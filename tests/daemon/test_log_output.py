"""The lines of the log of ``kafkatx up``."""

from __future__ import annotations

import json
import os
from typing import Any

from twisted.logger import LogLevel, PredicateResult
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.log_output import LineObserver, LogWriter, as_json, as_text, line_of, wanted


def event(message: str = "hello {who}", **fields: Any) -> dict[str, Any]:
    """Make an event as Twisted's logger does."""
    return {
        "log_time": 1_700_000_000.25,
        "log_level": LogLevel.info,
        "log_namespace": "kafkatx.broker",
        "log_format": message,
        "who": "world",
        **fields,
    }


def failed() -> Failure:
    """Make a failure with a traceback."""
    try:
        raise ValueError("broken\x1b[31m")
    except ValueError:
        return Failure()


class FormatTests(SynchronousTestCase):
    def test_text(self) -> None:
        """A line has the time in UTC, the level and the message."""
        self.assertEqual(as_text(line_of(event())), "2023-11-14T22:13:20.250Z info hello world\n")

    def test_text_is_escaped(self) -> None:
        """A message that another program chose stays one line and commands no terminal."""
        shown = as_text(line_of(event(who="a\nb\x1b[31m")))
        self.assertTrue(shown.endswith("hello a\\nb\\x1b[31m\n"))

    def test_traceback(self) -> None:
        """A traceback follows, indented and escaped; in JSON it is the failure."""
        line = line_of(event(log_failure=failed(), log_level=LogLevel.critical))
        first, *rest = as_text(line).splitlines()
        self.assertTrue(first.endswith("critical hello world"))
        self.assertTrue(all(row.startswith("    ") for row in rest))
        self.assertIn("broken\\x1b[31m", rest[-1])
        self.assertIn("ValueError: broken", json.loads(as_json(line))["failure"])

    def test_json(self) -> None:
        """A line is one object of ASCII characters, whatever the message has."""
        shown = as_json(line_of(event(who="a\nü")))
        self.assertTrue(shown.isascii())
        self.assertEqual(shown.count("\n"), 1)
        self.assertEqual(
            json.loads(shown),
            {
                "time": "2023-11-14T22:13:20.250Z",
                "level": "info",
                "logger": "kafkatx.broker",
                "message": "hello a\nü",
            },
        )

    def test_bare_event(self) -> None:
        """An event without any field is a line, too."""
        self.assertEqual(as_text(line_of({})), "1970-01-01T00:00:00.000Z info \n")


class WantedTests(SynchronousTestCase):
    def logged(self, level: str, **fields: Any) -> bool:
        """Return True if an event is logged at this lowest level."""
        return wanted(level)(event(**fields)) is not PredicateResult.no

    def test_levels(self) -> None:
        """Events below the level are left out."""
        for lowest, expected in (("debug", 5), ("info", 4), ("warn", 3), ("error", 2)):
            levels = [level for level in LogLevel.iterconstants() if self.logged(lowest, log_level=level)]
            self.assertEqual(len(levels), expected, lowest)

    def test_frameworks(self) -> None:
        """Twisted's own lines are left out up to info, but not its warnings, and none at debug."""
        for namespace in ("twisted.internet.protocol.Factory", "log_legacy"):
            self.assertFalse(self.logged("info", log_namespace=namespace))
            self.assertTrue(self.logged("info", log_namespace=namespace, log_level=LogLevel.critical))
            self.assertTrue(self.logged("debug", log_namespace=namespace))
        self.assertTrue(self.logged("info", log_namespace="twistedly"))


class WriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pipe, and an observer that writes to it."""
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)
        self.writer = LogWriter(self.writing)
        self.observer = LineObserver(as_text, self.writer)

    def fill(self) -> None:
        """Write until the pipe takes nothing."""
        while self.writer.write("x" * 100_000):
            pass

    def test_full_pipe(self) -> None:
        """Lines that a pipe does not take are dropped without waiting; then their number is logged."""
        self.addCleanup(os.close, self.writing)
        self.fill()
        for _ in range(3):
            self.observer(event())
        while len(os.read(self.reading, 1 << 20)) == 1 << 20:
            pass
        self.observer(event(who="again"))
        rows = os.read(self.reading, 1 << 20).decode().splitlines()
        self.assertEqual(rows[0], "")  # below the line that was torn
        self.assertIn("warn 3 lines of the log were dropped", rows[1])
        self.assertTrue(rows[2].endswith("hello again"))
        self.assertEqual(len(rows), 3)

    def test_closed(self) -> None:
        """A descriptor that is closed takes nothing, and nothing is raised."""
        os.close(self.writing)
        self.observer(event())
        self.assertFalse(self.writer.write("x"))

    def test_reader_has_gone(self) -> None:
        """A pipe without a reader takes nothing either."""
        self.addCleanup(os.close, self.writing)
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        self.assertFalse(LogWriter(writing).write("x"))

    def test_file(self) -> None:
        """A file takes lines of any length."""
        self.addCleanup(os.close, self.writing)
        path = self.mktemp()
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        self.addCleanup(os.close, file)
        self.assertTrue(LogWriter(file).write("x" * 100_000))
        self.assertEqual(os.path.getsize(path), 100_000)
