"""Tests of kafkatx.cli.messages.tail: which messages are printed."""

from __future__ import annotations

import re
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages import tail
from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.messages.tail import Filter, Wanted, first
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.metadata import TopicMetadata
from kafkatx.types import TopicPartition
from tests.cli.command_case import CommandCase

A0, B0 = TopicPartition("a", 0), TopicPartition("b", 0)


def record(key: bytes | None, value: bytes | None) -> Record:
    """One of topic a."""
    return Record("a", 0, 0, key=key, value=value)


class FilterTests(SynchronousTestCase):
    def test_matches(self) -> None:
        """A value or a key is searched, not matched as a whole; both must be found; a null is empty."""
        value, key = re.compile(b"x+"), re.compile(b"^k")
        for chosen, given, expected in (
            (Filter(value), record(None, b"axxa"), True),
            (Filter(value), record(b"x", b"a"), False),
            (Filter(value), record(None, None), False),
            (Filter(re.compile(b"^$")), record(None, None), True),
            (Filter(None, key), record(b"key", b""), True),
            (Filter(None, key), record(None, b"key"), False),
            (Filter(value, key), record(b"key", b"y"), False),
            (Filter(value, key), record(b"key", b"x"), True),
            (Filter(value, key, inverted=True), record(b"key", b"y"), True),
            (Filter(value, inverted=True), record(None, b"x"), False),
        ):
            self.assertIs(chosen.matches(given), expected, (chosen, given))

    def test_choose(self) -> None:
        """Partitions of which nothing matches are left out."""
        found = {A0: [record(None, b"1"), record(None, b"2")], B0: [record(None, b"1")]}
        self.assertEqual(Filter().choose(found), found)
        self.assertEqual(Filter(re.compile(b"2")).choose(found), {A0: [record(None, b"2")]})

    def test_first(self) -> None:
        """The first records are kept, in order, up to the number."""
        found = {A0: [record(None, b"1"), record(None, b"2")], B0: [record(None, b"3")]}
        self.assertEqual(first(found, 1), {A0: found[A0][:1]})
        self.assertEqual(first(found, 3), found)


class WantedTests(SynchronousTestCase):
    def partitions(self, names: list[str], pattern: str | None) -> set[TopicPartition]:
        """Those wanted of topics a, ab and an internal one."""

        class Admin:
            def list_topics(self, internal: bool) -> list[TopicMetadata]:
                led: Any = object()
                there = [TopicMetadata("a", {0: led}), TopicMetadata("ab", {1: led})]
                return [*there, TopicMetadata("__c", internal=True)] if internal else there

        admin: Any = Admin()
        return Wanted(names, None if pattern is None else re.compile(pattern)).partitions(admin)

    def test_names(self) -> None:
        """Names are taken as they are, internal ones too; one that is not there is an error."""
        self.assertEqual(self.partitions(["a", "__c"], None), {A0})
        self.assertRaises(UnknownTopic, self.partitions, ["a", "nope"], None)

    def test_pattern(self) -> None:
        """The whole name must match; it may be that of none."""
        self.assertEqual(self.partitions([], "a"), {A0})
        self.assertEqual(self.partitions([], "a.*"), {A0, TopicPartition("ab", 1)})
        self.assertEqual(self.partitions([], "z"), set())


class UsageTests(CommandCase):
    def test_usage(self) -> None:
        """A wrong command line is exit code 2, with the reason on stderr."""
        for arguments, reason in (
            (["tail"], "give TOPIC..."),
            (["tail", "t", "-r", "t"], "give TOPIC..."),
            (["tail", "t", "-m", "("], "--match (: missing )"),
            (["tail", "-r", "("], "--regex (: missing )"),
            (["tail", "t", "-f", "%z"], "'%z' is unknown"),
            (["tail", "t", "-J", "-f", "%s"], "exclude each other"),
            (["consume", "t", "u"], "several topics"),
            (["consume", "-G", "g", "t", "-o", "5"], "beginning and end"),
            (["consume", "-G", "g", "t", "-o", "e@5"], "beginning and end"),
            (["consume", "-G", "g", "t", "-p", "0"], "a group divides the partitions"),
            (["bench", "latency", "--size", "15"], "15 is not in the range"),
            (["bench", "producer", "-X", "linger.ms"], "give NAME=VALUE"),
        ):
            self.use_streams()
            self.assertEqual(self.run_command(*arguments), 2, arguments)
            self.assertIn(reason, self.err.text())

    def test_format(self) -> None:
        """The default format is a valid format."""
        self.assertFalse(renderer("t", tail.FORMAT, None, "").wants_headers)
