"""The tables of ``docs/kafka-tools.md``: both command lines of each row do the same to a broker."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main
from kafkatx.testing import EmbeddedBroker
from tests.cli.command_case import Terminal
from tests.test_readme import ROOT

PAGE = ROOT / "docs/kafka-tools.md"
FILES = {
    "orders.txt": "1:espresso\n2:mocha\n3:latte\n",
    "offsets.json": '{"version": 1, "partitions": [{"topic": "users", "partition": 0, "offset": 1}]}',
}
TOOLS = {
    "kafka-topics.sh": ["topics"],
    "kafka-console-producer.sh": ["produce"],
    "kafka-console-consumer.sh": ["consume"],
    "kafka-consumer-groups.sh": ["groups"],
    "kafka-configs.sh": ["configs"],
    "kafka-get-offsets.sh": ["offsets"],
    "kafka-delete-records.sh": ["records", "delete"],
    "kafka-log-dirs.sh": ["logdirs"],
    "kafka-acls.sh": ["acls"],
    "kafka-client-metrics.sh": ["client-metrics"],
}


def rows() -> list[tuple[str, str]]:
    """Return the command lines of each row of the page: Kafka's and ours."""
    return re.findall(r"^\| `(kafka-\S+\.sh .*?)` \| `(kafkatx .*?)` \|$", PAGE.read_text(), re.MULTILINE)


def normalised(printed: str, broker: EmbeddedBroker) -> str:
    """Return sorted output without the broker's address and directory."""
    port = broker.bootstrap.rpartition(":")[2]
    text = re.sub(rf"\b{port}\b", "PORT", printed.replace(str(broker.data_dir), "DIR"))
    return "\n".join(sorted(text.splitlines()))  # partitions are read in any order


class KafkaToolsPageTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Write the files that the page names."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir(parents=True)
        for name, content in FILES.items():
            (self.folder / name).write_text(content)

    def test_found(self) -> None:
        """Each tool of the page has rows; the files are those that the page shows."""
        found = rows()
        self.assertGreater(len(found), 35)
        self.assertEqual({kafka.split()[0] for kafka, _ in found}, set(TOOLS))
        self.assertIn(FILES["offsets.json"], PAGE.read_text())
        for line in FILES["orders.txt"].split():
            self.assertIn(f"`{line}`", PAGE.read_text())

    def test_every_row(self) -> None:
        """Each line succeeds, and prints the same with Kafka's options as with ours."""
        settings = {"authorizer.class.name": "acl", "super.users": "User:ANONYMOUS"}
        with EmbeddedBroker(settings) as theirs, EmbeddedBroker(settings) as ours:
            for kafka, kafkatx in rows():
                words = kafka.replace("localhost:9092", theirs.bootstrap)
                tool, *arguments = shlex.split(words)
                printed = self.run_line([*TOOLS[tool], *arguments], "nowhere:1")
                again = self.run_line(shlex.split(kafkatx)[1:], ours.bootstrap)
                if tool == "kafka-log-dirs.sh":  # the free bytes of the disk change
                    self.assertEqual(len(printed.splitlines()), len(again.splitlines()))
                else:
                    self.assertEqual(normalised(printed, theirs), normalised(again, ours), kafka)

    def run_line(self, arguments: list[str], bootstrap: str) -> str:
        """Run one command line; return its standard output."""
        arguments = [str(self.folder / word) if word in FILES else word for word in arguments]
        source = os.devnull
        if "<" in arguments:
            at = arguments.index("<")
            source = arguments[at + 1]
            del arguments[at : at + 2]
        out, err = Terminal(), Terminal()
        with (
            open(source) as stdin,
            mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err),
            mock.patch.dict(os.environ, KAFKATX_BOOTSTRAP=bootstrap),
        ):
            code = main.main(arguments)
        self.assertEqual(code, 0, f"{arguments}: {err.text()}")
        return out.text()


class RefusedTests(SynchronousTestCase):
    def test_one_sentence(self) -> None:
        """An option that kafkatx does not have is refused with what to use instead."""
        for line, advice in (
            ("topics --create --topic t --replica-assignment 0:1", "the cluster chooses"),
            ("topics --describe --under-replicated-partitions", "kafkatx cluster --json"),
            ("produce --topic t --producer-property linger.ms=5", "bench producer -X"),
            ("consume --include a.*", "tail --regex"),
            ("groups --reset-offsets --group g --to-current --execute", "offsets stay"),
            ("configs --describe --entity-type topics --zookeeper z:2181", "--bootstrap-server"),
            ("offsets --topic-partitions t:0", "TOPIC:0,1"),
            ("acls --list --user-principal User:a", "no ACLs of users"),
        ):
            err = Terminal()
            with mock.patch.object(sys, "stderr", err):
                self.assertEqual(main.main(line.split()), 2, line)
            self.assertIn(advice, err.text())

    def test_delete_offsets_needs_a_topic(self) -> None:
        """--delete-offsets without a topic does not delete the group."""
        err = Terminal()
        with mock.patch.object(sys, "stderr", err):
            self.assertEqual(main.main(["groups", "--delete-offsets", "--group", "g", "--yes"]), 2)
        self.assertIn("give --topic", err.text())
