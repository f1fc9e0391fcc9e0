"""RabbitMQ is started with a folder and ports of its own, and is optional."""

from __future__ import annotations

import os
import shutil

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.loads import amqp
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.systems import rabbitmq
from benchmarks.compare.systems.rabbitmq import RabbitMq, environment

FOLDER = "/tmp/some folder"
# those whose values are no paths
PLAIN = {
    "ERL_EPMD_ADDRESS": "127.0.0.1",
    "ERL_EPMD_PORT": "3",
    "RABBITMQ_NODENAME": "bench@localhost",
    "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
    "RABBITMQ_NODE_PORT": "1",
    "RABBITMQ_DIST_PORT": "2",
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
}


class RabbitMqTests(SynchronousTestCase):
    def test_environment(self) -> None:
        """Its ports are those that are given, on the loopback only; its files are in its folder."""
        given = environment(FOLDER, 1, 2, 3)
        self.assertEqual({name: given[name] for name in PLAIN}, PLAIN)
        paths = {name: path for name, path in given.items() if name not in PLAIN}
        self.assertEqual(paths["HOME"], FOLDER)
        for name in ("MNESIA_BASE", "LOG_BASE", "CONFIG_FILE", "CONF_ENV_FILE", "ENABLED_PLUGINS_FILE"):
            self.assertIn(f"RABBITMQ_{name}", paths)
        for path in paths.values():
            self.assertEqual(os.path.commonpath([path, FOLDER]), FOLDER)

    def test_mapper(self) -> None:
        """Erlang's port mapper is started before the node, and not as a daemon."""
        script = rabbitmq.COMMAND[-1]
        self.assertTrue(script.startswith("epmd & "))
        self.assertTrue(script.endswith(f"; exec {rabbitmq.SERVER}"))

    def test_load(self) -> None:
        """A load is of the AMQP client; what only librdkafka has is left out."""
        self.patch(amqp, "program", lambda: "/built/amqp")
        self.assertEqual(
            RabbitMq().load_command(5672, ["produce", "q", 10, 200], {"linger.ms": 5}),
            ["/built/amqp", "produce", "q", "10", "200", "port=5672"],
        )

    def test_missing(self) -> None:
        """Without the server, or Erlang's port mapper, it is said what to install."""
        hint = "there is no RabbitMQ; on Debian: apt-get install rabbitmq-server"
        self.patch(rabbitmq, "SERVER", os.path.join(self.mktemp(), "none"))
        self.assertEqual(RabbitMq().missing(), hint)
        self.patch(rabbitmq, "SERVER", os.devnull)
        self.patch(shutil, "which", lambda _: None)
        self.assertEqual(RabbitMq().missing(), hint)

    def test_no_client(self) -> None:
        """Without the client it is said what to install."""

        def program() -> str:
            raise NotBuilt("on Debian: apt-get install gcc")

        self.patch(rabbitmq, "SERVER", os.devnull)
        self.patch(shutil, "which", lambda _: "/usr/bin/epmd")
        self.patch(amqp, "program", program)
        self.assertEqual(RabbitMq().missing(), "on Debian: apt-get install gcc")
