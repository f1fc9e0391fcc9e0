"""Tests of kafkatx.cli.root: exit codes and what a user's mistake looks like."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import click
from click.shell_completion import ShellComplete

from kafkatx import __version__
from kafkatx.cli import root
from kafkatx.cli.cluster import topics
from kafkatx.errors import KafkaTXError
from tests.cli.command_case import CommandCase


class RootTests(CommandCase):
    def test_version_and_help(self) -> None:
        """Both are answered on stdout with exit code 0."""
        self.assertEqual(self.run_command("--version"), 0)
        self.assertEqual(self.out.text(), f"kafkatx {__version__}\n")
        for command in ([], ["topics"], ["topics", "create"], ["produce"], ["consume"]):
            self.assertEqual(self.run_command(*command, "--help"), 0)
        self.assertIn("%T timestamp in ms", self.out.text())

    def test_usage(self) -> None:
        """A wrong command line is exit code 2, with the reason on stderr."""
        for arguments, reason in (
            (["nonsense"], "nonsense"),
            (["consume", "t", "-o", "x"], "give beginning, end"),
            (["consume", "t", "-f", "%z"], "'%z' is unknown"),
            (["consume", "t", "-J", "-f", "%s"], "exclude each other"),
            (["consume", "t", "-p", "7"], "has no partition 7: it has 0 to 1"),
            (["topics", "create", "x", "-c", "nope"], "give NAME=VALUE"),
            (["topics", "delete", "t"], "give --yes"),
            (["produce", "t", "-z", "rar"], "rar"),
            (["produce", "t", "/does/not/exist"], "does not exist"),
            (["produce", "t", "-K", ""], "it is empty"),
        ):
            self.assertEqual(self.run_command(*arguments), 2, arguments)
            self.assertIn(reason, self.err.text())
        self.assertEqual(self.out.text(), "")

    def test_one_line(self) -> None:
        """An error is exit code 1 and exactly one line on stderr."""
        self.fake.down = {1}
        for arguments in (["topics", "list"], ["consume", "t"]):
            self.use_streams()
            self.assertEqual(self.run_command(*arguments), 1)
            self.assertEqual(self.err.text(), "kafkatx: no broker answers at broker1:9092\n")

    def test_unknown_topic(self) -> None:
        """A topic that is not there is named, with what to do."""
        self.assertEqual(self.run_command("consume", "nope"), 1)
        self.assertIn("there is no topic 'nope': create it", self.err.text())
        self.assertNotIn("nope", self.fake.topics)

    def test_multi_line_error(self) -> None:
        """A message of several lines is printed as one."""

        def fail(*arguments: object) -> None:
            raise KafkaTXError("one\n  two")

        self.patch(topics, "connect", fail)
        self.assertEqual(self.run_command("topics", "list"), 1)
        self.assertEqual(self.err.text(), "kafkatx: one two\n")

    def test_interrupted(self) -> None:
        """Ctrl-C is exit code 130 without a traceback."""

        def interrupt(*arguments: object) -> None:
            raise KeyboardInterrupt

        self.patch(topics, "connect", interrupt)
        self.assertEqual(self.run_command("topics", "list"), 130)
        self.assertNotIn("Traceback", self.err.text())

    def test_bug(self) -> None:
        """An error of our own is not hidden."""

        def fail(*arguments: object) -> None:
            raise ZeroDivisionError

        self.patch(topics, "connect", fail)
        self.assertRaises(ZeroDivisionError, self.run_command, "topics", "list")

    def test_not_utf8(self) -> None:
        """An argument that is not UTF-8 is named, and why it is refused."""

        def encode(*arguments: object) -> None:
            "caf\udce9".encode()

        self.patch(topics, "connect", encode)
        self.assertEqual(self.run_command("topics", "create", "caf\udce9"), 1)
        self.assertIn("is not UTF-8 text", self.err.text())

    def test_closed_streams(self) -> None:
        """A closed standard output is named, instead of a bad descriptor."""

        def fail(*arguments: object) -> None:
            raise OSError(errno.EBADF, "Bad file descriptor")

        self.patch(topics, "connect", fail)
        self.assertEqual(root.run(["topics", "list"], ["output"]), 1)
        self.assertEqual(self.err.text(), "kafkatx: standard output is closed\n")

    def test_every_command_has_an_example(self) -> None:
        """Each command's help ends with an example that names it, and fits into 80 columns."""
        for path, command in commands(root.kafkatx, ()):
            with self.subTest(path=path):
                epilog = command.epilog or ""
                self.assertIn(" ".join(("kafkatx", *path)), epilog, path)

    def test_every_option_has_help(self) -> None:
        """Each visible option has a help text that begins with a capital letter and ends with a stop."""
        for path, command in commands(root.kafkatx, ()):
            for option in command.params:
                if isinstance(option, click.Option) and not option.hidden:
                    text = (option.help or "").partition("  [")[0]
                    self.assertRegex(text, r"^[A-Z].*\.$", (path, option.name))

    def test_short_help_is_whole(self) -> None:
        """No line of a list of commands is cut at 80 columns."""
        for path, command in commands(root.kafkatx, ()):
            self.assertLessEqual(len(command.get_short_help_str(200)), 66, path)

    def test_completion(self) -> None:
        """A shell completes commands and options, without Kafka's names for them."""
        completer = ShellComplete(root.kafkatx, {}, "kafkatx", "_KAFKATX_COMPLETE")

        def completed(*words: str) -> list[str]:
            return [found.value for found in completer.get_completions(list(words[:-1]), words[-1])]

        self.assertEqual(completed("off"), ["offsets"])
        self.assertEqual(completed("topics", "d"), ["delete", "describe"])
        self.assertEqual(completed("topics", "create", "--rep"), ["--replication"])
        self.assertEqual(completed("produce", "-z", "z"), ["zstd"])


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command under a group, with its path; those of the broker's process are tested elsewhere."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif command.callback is not None and ".broker." not in command.callback.__module__:
            yield (*path, name), command
