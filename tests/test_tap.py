"""``twistd kafkatx``: its options, and what it makes of them. The ends of mistakes: test_bad_settings."""

from __future__ import annotations

import os
from typing import Any

from twisted.application.service import IService, IServiceMaker
from twisted.logger import capturedLogs
from twisted.plugin import getPlugins
from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx import tap
from kafkatx.broker import BrokerService
from kafkatx.config import BrokerConfig


def parsed(*arguments: str) -> tap.Options:
    """Options as twistd parses them."""
    options = tap.Options()
    options.parseOptions(list(arguments))
    return options


class OptionsTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Without options there is no file and nothing is set."""
        options = parsed()
        self.assertEqual((options["config"], options["overrides"]), (None, []))

    def test_set(self) -> None:
        """--set takes a name and a value, as often as one likes; the value may hold further equals signs."""
        options = parsed("--set", "a.b=1", "-s", "c = d=e", "--config", "f", "--set", "a.b=")
        self.assertEqual(options["overrides"], [("a.b", "1"), ("c", "d=e"), ("a.b", "")])
        self.assertEqual(options["config"], "f")

    def test_set_without_value(self) -> None:
        """--set without a value says how it is used."""
        with self.assertRaisesRegex(UsageError, "--set a.b: must be name=value"):
            parsed("--set", "a.b")

    def test_overrides_go_before_the_file(self) -> None:
        """Settings on the command line take precedence over the file."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.write("num.partitions=3\nbroker.id=5\n")
        options = parsed("--config", path, "--set", "num.partitions=4")
        config = BrokerConfig.load(options["config"], options["overrides"])
        self.assertEqual((config.get("num.partitions"), config.get("broker.id")), (4, 5))


class ServiceTests(SynchronousTestCase):
    def test_plugin(self) -> None:
        """twistd finds the service maker."""
        makers: dict[str, Any] = {maker.tapname: maker for maker in getPlugins(IServiceMaker)}
        self.assertEqual(makers["kafkatx"].module, "kafkatx.tap")

    def test_make_service(self) -> None:
        """The service is a broker with the settings given; nothing is opened before it starts."""
        data = self.mktemp()
        service = tap.makeService(parsed("--set", f"log.dirs={data}", "--set", "broker.id=4"))
        assert isinstance(service, BrokerService)
        self.assertTrue(IService.providedBy(service))
        self.assertEqual(service.broker.node_id, 4)
        self.assertFalse(os.path.exists(data))

    def test_mistake(self) -> None:
        """A mistake in the settings ends the process with one line that begins with the program's name."""
        with self.assertRaises(SystemExit) as caught:
            tap.makeService(parsed("--set", "num.partition=3"))
        self.assertRegex(str(caught.exception), r"\Akafkatx: num\.partition: [^\n]*\Z")

    def test_started(self) -> None:
        """A broker that has started says what to type next, with its address."""
        service = tap.makeService(parsed("--set", f"log.dirs={self.mktemp()}"))
        assert isinstance(service, BrokerService)
        self.patch(service, "settle", lambda: None)
        notes: list[bool] = []  # the real one would leave a worker's thread, which the end would wait for
        self.patch(service, "write_note", lambda note, *, pid_file: notes.append(pid_file))
        service.bootstrap = "127.0.0.1:29092"
        with capturedLogs() as events:
            service.started.callback(service)
        self.assertEqual([event["command"].endswith("127.0.0.1:29092") for event in events], [True, True])
        self.assertEqual(notes, [False])
