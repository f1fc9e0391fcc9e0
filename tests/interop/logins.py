"""Apache Kafka's tools, of version 4, at a kafkatx broker whose clients log in."""

from __future__ import annotations

import os
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.jaas import PLAIN, SCRAM
from kafkatx.testing import EmbeddedBroker
from tests.clients.toolchains import java, prepare
from tests.interop.java_tools import CONFIGS, JARS, TIMEOUT_S, TOPICS

PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
USERS = f'{PLAIN} required username="broker" password="b" user_broker="b" user_admin="adm1n";'


class LoginTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker whose sessions end after two seconds."""
        prepare("java-4")
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(self.folder)
        self.broker = EmbeddedBroker(
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
                "connections.max.reauth.ms": "2000",
                "group.initial.rebalance.delay.ms": "0",
            }
        )
        self.addCleanup(self.broker.close)
        self.broker.start()

    def settings(self, mechanism: str, user: str, password: str) -> str:
        """Write the settings of a client; return the path of the file."""
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        path = os.path.join(self.folder, f"{mechanism}-{user}.properties")
        with open(path, "w") as file:
            file.write(
                f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
                f'sasl.jaas.config={module} required username="{user}" password="{password}";\n'
            )
        return path

    def tool(self, main_class: str, *arguments: str, lines: str = "", code: int = 0) -> str:
        """Run a tool, which must end with *code*; return what it prints."""
        command = java(JARS, main_class, "--bootstrap-server", self.broker.bootstrap, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, input=lines)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_tools(self) -> None:
        """kafka-configs adds a user, who produces and consumes; and removes it."""
        admin = ("--command-config", self.settings("PLAIN", "admin", "adm1n"))
        alice = ("--entity-type", "users", "--entity-name", "alice")
        both = "SCRAM-SHA-256=[iterations=8192,password=wonder],SCRAM-SHA-512=[password=land]"
        self.tool(CONFIGS, *admin, "--alter", *alice, "--add-config", both)
        shown = self.tool(CONFIGS, *admin, "--describe", *alice)
        self.assertIn("SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096", shown)
        producing = self.settings("SCRAM-SHA-512", "alice", "land")
        self.tool(PRODUCER, "--command-config", producing, "--topic", "t", lines="one\ntwo\n")
        consuming = ("--command-config", self.settings("SCRAM-SHA-256", "alice", "wonder"))
        options = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "60000")
        read = self.tool(CONSUMER, *consuming, "--topic", "t", *options)
        self.assertIn("one\ntwo\n", read)
        self.tool(CONFIGS, *admin, "--alter", *alice, "--delete-config", "SCRAM-SHA-256,SCRAM-SHA-512")
        refused = self.tool(TOPICS, "--list", "--command-config", producing, code=1)
        self.assertIn("invalid credentials with SASL mechanism SCRAM-SHA-512", refused)
        self.assertNotIn("its session has ended", self.broker.log.text())
