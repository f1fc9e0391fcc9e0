"""Names, settings, records and errors that would be commands to a terminal are shown as text."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from unittest import mock

import click

from kafkatx.audit.comparison import Window
from kafkatx.blocking import Cluster
from kafkatx.cli.cluster import configs, topics
from kafkatx.cli.groups import groups, reset
from kafkatx.cli.log.rows import printer
from kafkatx.cli.messages import consume, produce
from kafkatx.cli.output import terminal
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import print_table
from kafkatx.cli.pipeline import audit_rows
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import printable
from kafkatx.records.batch import Headers
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fake_settings import TOPIC, FakeSettings
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase

EVIL = "e\x1b[2J\x1b]0;title\x07\x9b7m\x85\u202evil\u2066\u2028\r\n\tx\x7f\x00[red]r[/] :skull:"
SHOWN = r"e\x1b[2J\x1b]0;title\x07\x9b7m\x85\u202evil\u2066\u2028\r\n\tx\x7f\x00[red]r[/] :skull:"
COLOURS = re.compile("\x1b\\[[0-9;]*m")
"""What rich draws headings with, at a terminal."""

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def batch(value: bytes, key: bytes | None = None, headers: Headers | None = None) -> bytes:
    """A batch of one record."""
    builder = BatchBuilder()
    builder.append(key, value, 0, headers or ())
    return builder.build()


class HostileCase(CommandCase):
    """A cluster in which everything is called EVIL."""

    def setUp(self) -> None:
        """Groups, settings, and a topic with a record."""
        super().setUp()
        log = Log()
        log.append(batch(EVIL.encode() + b"\xff", EVIL.encode(), [(EVIL, EVIL.encode())]))
        member = FakeMember(EVIL, {EVIL: [0]}, EVIL)
        group = FakeGroup([member], {TopicPartition(EVIL, 0): 1}, protocol_type=EVIL)
        idle = FakeGroup(offsets={TopicPartition(EVIL, 0): 1}, protocol_type="")
        self.cluster = FakeGroups({EVIL: [log]}, groups={EVIL: group, f"idle{EVIL}": idle})
        self.settings = FakeSettings(
            {EVIL: [Log()]},
            settings={(TOPIC, EVIL): {EVIL: EVIL}},
            quotas={frozenset({("client-id", EVIL)}): {"producer_byte_rate": 1.0}},
        )
        for module in (topics, produce, consume, groups, reset):
            self.patch(module, "connect", lambda bootstrap, timeout: self.cluster.client())
        self.patch(configs, "connect", lambda bootstrap, timeout: self.settings.client())

    def check(self, *arguments: str, lines: int | None = None) -> None:
        """Neither stream has anything unsafe, and the name is there; *lines*: how many on stdout."""
        for tty in (True, False):
            self.use_streams(tty)
            self.run_command(*arguments)
            for stream in (self.out, self.err):
                text = COLOURS.sub("", stream.text()) if tty else stream.text()
                self.assertIsNone(UNSAFE.search(text), (arguments, tty, text))
            both = COLOURS.sub("", self.out.text() + self.err.text())
            self.assertNotIn("Traceback", both)
            self.assertIn("title", both, arguments)
            if not tty and lines is not None:
                self.assertEqual(self.out.text().count("\n"), lines, arguments)
                self.assertEqual(len(self.out.text().splitlines()), lines, arguments)


class CommandTests(HostileCase):
    def test_names(self) -> None:
        """Every command that shows names: a row stays a line, and all is text."""
        for arguments, lines in (
            (("topics", "list"), 1),
            (("topics", "list", "--json"), 1),
            (("topics", "create", EVIL, "--if-not-exists"), 0),
            (("topics", "create", f"new{EVIL}"), 0),
            (("topics", "delete", f"none{EVIL}", "-y"), 0),
            (("groups", "list"), 2),
            (("groups", "list", "--json"), 2),
            (("groups", "describe", EVIL), 1),
            (("groups", "describe", EVIL, "-m"), 1),
            (("groups", "describe", EVIL, "--json"), 1),
            (("groups", "describe", f"none{EVIL}"), 0),
            (("groups", "delete", f"none{EVIL}", EVIL, "-y"), 0),
            (("groups", "reset", f"idle{EVIL}", "--to-offset", "7"), 1),
            (("groups", "reset", f"idle{EVIL}", "--to-latest", "--execute", "--json"), 1),
            (("configs", "describe", "-t", EVIL), None),
            (("configs", "describe", "-t", EVIL, "--json"), None),
            (("configs", "describe", "--quotas"), 1),
            (("configs", "describe", "--quotas", "--json"), 1),
            (("configs", "alter", "-t", EVIL, "--set", f"{EVIL}={EVIL}"), 0),
            (("consume", f"none{EVIL}", "-e"), 0),
            (("consume", EVIL, "-e", "-p", "7"), 0),
            (("consume", EVIL, "-J", "-e"), 1),
            (("consume", EVIL, "-o", EVIL), 0),
            (("topics", EVIL), 0),
        ):
            self.check(*arguments, lines=lines)

    def test_asked(self) -> None:
        """The question before a deletion is safe."""
        self.patch(terminal, "interactive", lambda stream: True)
        asked = mock.Mock()
        self.patch(click, "confirm", asked)
        self.run_command("topics", "delete", EVIL)
        self.assertIsNone(UNSAFE.search(asked.call_args[0][0]))

    def test_errors(self) -> None:
        """The words of a broker, in an error."""

        def refused(*_: object) -> Cluster:
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, EVIL)

        for module in (topics, configs, groups):
            self.patch(module, "connect", refused)
        self.check("topics", "list", lines=0)
        self.check("configs", "describe", "--quotas", lines=0)
        self.check("groups", "list", lines=0)

    def test_consumed_at_a_terminal(self) -> None:
        """A record is text at a terminal, but for newlines and tabs; the format's own text is kept."""
        for arguments in ((), ("-K", ":"), ("-f", "%t %k %s %h %R\\n")):
            self.check_terminal("consume", EVIL, "-e", *arguments)
        self.use_streams(tty=True)
        self.run_command("consume", EVIL, "-e", "-f", "\\x1b[1m%k\\x1b[0m")
        shown = SHOWN.replace(r"\n\t", "\n\t")
        self.assertEqual(self.out.text(), f"\x1b[1m{shown}\x1b[0m")

    def check_terminal(self, *arguments: str) -> None:
        """Nothing unsafe is on stdout."""
        self.use_streams(tty=True)
        self.assertEqual(self.run_command(*arguments), 0)
        self.assertIn("title", self.out.text())
        self.assertIsNone(UNSAFE.search(self.out.text()), arguments)

    def test_consumed_into_a_pipe(self) -> None:
        """To another program the bytes go as they are."""
        self.use_streams()
        self.run_command("consume", EVIL, "-e", "-D", "")
        buffer: Any = self.out.buffer
        self.assertEqual(buffer.getvalue(), EVIL.encode() + b"\xff")

    def test_json_is_the_same(self) -> None:
        """Escapes in JSON do not change what it says."""
        self.use_streams()
        self.run_command("consume", EVIL, "-e", "-J")
        found = json.loads(self.out.text())
        payload = base64.b64decode(found["payload_base64"])
        self.assertEqual((found["key"], payload), (EVIL, EVIL.encode() + b"\xff"))
        self.assertNotIn("payload", found)

    def test_binary_length(self) -> None:
        """A length of 27 in binary is an escape: no terminal gets it."""
        log = Log()
        log.append(batch(b"[2Jtitle" + b"x" * 19))
        self.cluster.topics[EVIL] = [log]
        self.check_terminal("consume", EVIL, "-e", "-f", "%R%s")


class PartTests(HostileCase):
    """The output of commands that have no cluster in memory."""

    def setUp(self) -> None:
        """A terminal."""
        super().setUp()
        self.use_streams(tty=True)

    def safe(self) -> None:
        """Nothing unsafe was printed, and the name was."""
        text = COLOURS.sub("", self.out.text() + self.err.text())
        self.assertIsNone(UNSAFE.search(text.replace("\x1b[?25l", "").replace("\x1b[2K", "")), text)
        self.assertIn("title", text)

    def test_table(self) -> None:
        """Cells and headings are neither markup nor emoji."""
        print_table(["a"], [[EVIL]], EVIL)
        self.safe()
        self.assertIn(":skull:", self.out.text())
        self.assertIn("[red]", self.out.text())

    def test_audit(self) -> None:
        """Names of topics in announcements are safe."""
        for as_json in (True, False):
            audit_rows.print_windows([Window(EVIL, 0, 10, 1, 1, 1, False)], as_json, False)
        self.safe()

    def test_tail(self) -> None:
        """A line of `tail` is one line at a terminal."""
        from kafkatx.blocking import Columns
        from kafkatx.cli.messages.tail import FORMAT
        from kafkatx.cli.output.terminal import readable_line

        made = consume.renderer(EVIL, FORMAT, None, "", readable_line)
        line = made.render(0, Columns([0], [0], [0], [EVIL.encode()], [EVIL.encode()], []))
        self.assertEqual(line.decode(), f"{SHOWN}\t0\t0\t{SHOWN}\t{SHOWN}\n")

    def test_log(self) -> None:
        """Keys, headers and file names of a log."""
        from kafkatx.log.inspect.rows import KINDS, RecordRow

        fields = dict.fromkeys(RecordRow._fields, None)
        data = EVIL.encode()
        fields |= {"file": EVIL, "key": data, "value": data, "headers": [(EVIL, data)], "offset": 1}
        row: Any = RecordRow(**fields)  # type: ignore[arg-type]
        for as_json, at_terminal in ((True, False), (False, True), (False, False)):
            printer(as_json, at_terminal)(iter([row]), KINDS)
            self.safe()

    def test_progress(self) -> None:
        """The text of a progress bar is not markup."""
        with ProgressBar(EVIL, 10, clock=iter(range(100)).__next__, enabled=True) as bar:
            bar.advance(5)
        text = self.err.text()
        self.assertNotIn("\x9b", text)
        self.assertNotIn("title\x07", text)
        self.assertIn("[red]", text)

    def test_demo(self) -> None:
        """Keys of the demonstration's lines."""
        from rich.console import Console

        from kafkatx.demo.facts import Facts
        from kafkatx.demo.report import counts

        facts = Facts(1, 1, 1, 0, ((EVIL.encode(), 1),))
        Console(file=self.out).print(counts(EVIL, facts))
        self.safe()

    def test_printable(self) -> None:
        """The one place: any character that is not visible, and bytes that were not UTF-8."""
        self.assertEqual(printable(EVIL), SHOWN)
        self.assertEqual(printable("grün 😀 \udcff\ud800"), "grün 😀 \\xff\\ud800")
