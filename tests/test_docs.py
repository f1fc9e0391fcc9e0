"""The documentation says what is true: generated pages are up to date, and the commands on them work."""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

import kafkatx.client
from kafkatx.broker.authorization.documents import page
from kafkatx.broker.handlers import SERVED
from kafkatx.cli.pipeline.ingest import ingest
from kafkatx.clientcore.settings import KINDS
from kafkatx.clientcore.tables import common
from kafkatx.config.table.row import by_name
from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable, IRowDecoder
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.api import APIS
from kafkatx.wire.documents import protocol_page
from tests.test_readme import ROOT, blocks


class ProtocolPageTests(SynchronousTestCase):
    def test_up_to_date(self) -> None:
        """``make documents`` would change nothing in ``docs/protocol.md``."""
        self.assertEqual((ROOT / "docs/protocol.md").read_text(), protocol_page(APIS.values()))

    def test_demands_up_to_date(self) -> None:
        """``make documents`` would change nothing in ``docs/authorization.md``."""
        self.assertEqual((ROOT / "docs/authorization.md").read_text(), page())

    def test_every_api_of_the_page_is_served(self) -> None:
        """The table of the page is the one that the broker dispatches by: nothing more, nothing less."""
        self.assertEqual({served.api for served in SERVED}, set(APIS.values()))


class CommandLinePageTests(SynchronousTestCase):
    def test_every_command(self) -> None:
        """Each shell block of ``docs/command-line.md`` runs, in order, against a broker."""
        folder = Path(self.mktemp())
        folder.mkdir(parents=True)
        page = (ROOT / "docs/command-line.md").read_text()
        commands = [block.text for block in blocks(page) if block.language == "sh"]
        self.assertGreater(len(commands), 1)
        with EmbeddedBroker(run_in="process") as broker:
            environment = {**os.environ, "KAFKATX_BOOTSTRAP": broker.bootstrap}
            environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
            printed = [self.run_commands(command, folder, environment) for command in commands]
        self.assertEqual(printed[1], "paris is 21 at offset 0\nrome is 27 at offset 1\n")
        self.assertEqual(printed[2], "21\n27\n3\n")
        self.assertEqual(printed[3], "temperatures\t0\t2\toslo\t3\n")
        groups, cluster, configs, bench = (text.splitlines() for text in printed[4:])
        self.assertEqual(cluster[:2], ["temperatures\t0\t0\t3\t3", "temperatures\t0\t1"])
        self.assertEqual(json.loads(cluster[2])["topics"][0]["partitions"][0]["isr"], [0])
        self.assertIn("weather\ttemperatures\t0\t0\t3\t3\t-\t-\t-", groups)
        self.assertEqual(list(json.loads(bench[0])), ["records_per_s", "mb_per_s", "latency_ms", "cpu_s"])
        self.assertEqual(configs[-1], "producer_byte_rate\t1048576\tclient-id 'station'")

    def run_commands(self, text: str, folder: Path, environment: dict[str, str]) -> str:
        """Run one block; return what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode}\n{text}{done.stdout}{done.stderr}")
        return done.stdout


def resolve(name: str, modules: list[Any]) -> Any:
    """Resolve a dotted name in the first of the modules that has it.

    An admin gets its parts (``Admin.groups``) when it is made: their classes stand in the same module.

    :raises AttributeError: nothing is called so.
    """
    first, *rest = name.split(".")
    found = next((getattr(module, first) for module in modules if hasattr(module, first)), None)
    if found is None:
        raise AttributeError(name)
    for part in rest:
        if part in ("groups", "configs", "quotas", "transactions", "acls"):
            found = getattr(sys.modules[found.__module__], part.capitalize())
        else:
            found = getattr(found, part)
    return found


class MigrationPageTests(SynchronousTestCase):
    """The tables of ``docs/client/migration.md``: their call in the first column, ours in the second."""

    def setUp(self) -> None:
        """Read the page, and see to it that the facades can be found."""
        for module in ("aio", "threads"):
            importlib.import_module(f"kafkatx.client.{module}")
        self.page = (ROOT / "docs/client/migration.md").read_text()

    def names(self, column: int, section: str = "") -> Iterator[str]:
        """Yield code in a column that begins with a class, one of our modules or a setting."""
        for title, text in re.findall(
            r"^## From (.*?)$(.*?)(?=^## |\Z)", self.page, re.MULTILINE | re.DOTALL
        ):
            if section in title:
                for row in re.findall(r"^\| (.*) \|$", text, re.MULTILINE)[1:]:
                    cells = row.split(" | ")
                    self.assertEqual(len(cells), 2, row)
                    yield from re.findall(r"`([A-Z]\w*(?:\.\w+)?|[A-Za-z]\w*(?:\.\w+)+)`", cells[column])

    def test_ours(self) -> None:
        """Each call and each setting that is named exists."""
        tables = [*common.SECTIONS, *(section for kind in KINDS.values() for section in kind.SECTIONS)]
        settings = by_name(tables)
        names = [*self.names(1)]
        self.assertGreater(len(names), 120)
        for name in names:
            if name not in settings:
                self.assertTrue(resolve(name, [kafkatx.client]), name)

    def test_theirs(self) -> None:
        """Each call of the other clients that are installed here exists."""
        for title, modules in (
            ("kafka-python", ["kafka"]),
            ("aiokafka", ["aiokafka", "aiokafka.admin"]),
            ("confluent-kafka", ["confluent_kafka", "confluent_kafka.admin"]),
        ):
            names = [*self.names(0, title)]
            self.assertGreater(len(names), 30)
            for name in names:
                resolve(name, [importlib.import_module(module) for module in modules])

    def test_wrong_name(self) -> None:
        """A name that is not there is found out, wherever it goes wrong."""
        for name in ("Producent", "Producer.sent", "threads.Admin.groups.offset", "linger.sec"):
            with self.assertRaises(AttributeError):
                resolve(name, [kafkatx.client])


class IngestPageTests(SynchronousTestCase):
    def test_options(self) -> None:
        """The table of ``docs/ingest.md`` has each option of the command, and the page names no other."""
        page = (ROOT / "docs/ingest.md").read_text()
        options = {name for option in ingest.params for name in (*option.opts, *option.secondary_opts)}
        table = page[page.index("## Options") : page.index("## Decoders")]
        self.assertEqual(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", table)) - options, set())
        self.assertEqual({name for name in options if f"`{name}" not in table}, set())
        self.assertEqual(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - options, set())


class DecoderExampleTests(SynchronousTestCase):
    def test_reading(self) -> None:
        """The decoder of ``docs/plugins.md`` does what its docstring says."""
        page = (ROOT / "docs/plugins.md").read_text()
        (text,) = [block.text for block in blocks(page) if "ReadingDecoder" in block.text]
        names: dict[str, Any] = {}
        exec(text, names)
        decoder = names["ReadingDecoder"]()
        decoder.configure({})
        self.assertTrue(verifyObject(IRowDecoder, decoder))
        self.assertTrue(verifyObject(IConfigurable, decoder))
        self.assertEqual(decoder.decode("t", b"oslo;3.5"), ("oslo", 3.5))
        self.assertRaises(SettingError, decoder.configure, {"separatr": ","})


class ApiPageTests(SynchronousTestCase):
    def test_complete(self) -> None:
        """Every public name of ``kafkatx.client`` is on ``docs/client/api.md``."""
        page = (ROOT / "docs/client/api.md").read_text()
        shown = set(re.findall(r"autoclass:: (\w+)(?:\(\))?$", page, re.MULTILINE))
        self.assertEqual(set(kafkatx.client.__all__) - shown, set())

    def test_returned(self) -> None:
        """Methods are shown with what they return: a Deferred, and of the facades the class itself."""
        for module in ("aio", "threads"):
            importlib.import_module(f"kafkatx.client.{module}")
        returned = runpy.run_path(str(ROOT / "docs/conf.py"))["returned"]
        for name, annotation, shown in (
            ("Consumer.start", "Consumer", "Deferred[Consumer]"),
            ("Consumer.stream", "BlockingStream", "BlockingStream"),
            ("aio.Consumer.start", "~kafkatx.client.aio.F", "Consumer"),
            ("threads.Producer.start", "~kafkatx.client.threads.F", "Producer"),
            ("aio.Consumer.getone", "Record", "Record"),
            ("threads.ConsumerConnector.create_message_streams", "list[~x.S]", "list[MessageStream]"),
        ):
            found = returned(f"kafkatx.client.{name}", resolve(name, [kafkatx.client]), annotation)
            self.assertEqual(found, shown, name)
