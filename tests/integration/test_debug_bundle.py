"""``kafkatx debug bundle`` of a real broker with secrets in many places: none is in the archive."""

from __future__ import annotations

import os
import tarfile

from kafkatx.daemon.process_file import read_note
from tests.integration.test_cli_up import UpCase

PASSWORDS = ("pw-of-the-broker-1", "pw-of-ann-2", "pw-of-the-link-3", "pw-of-scram-4", "pw-in-the-log-5")
BROKER, ANN, LINK, SCRAM, LOGGED = PASSWORDS
VALUE = "value-of-a-record-6"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class DebugBundleTests(UpCase):
    def setUp(self) -> None:
        """Start a broker with logins and a link, write a record, and leave a secret in its log."""
        super().setUp()
        self.config = self.write(
            "server.properties",
            "listeners=SASL_PLAINTEXT://127.0.0.1:0",
            "security.inter.broker.protocol=SASL_PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
            "sasl.mechanism.inter.broker.protocol=PLAIN",
            f'listener.name.sasl_plaintext.plain.sasl.jaas.config={PLAIN} username="broker"'
            f' password="{BROKER}" user_broker="{BROKER}" user_ann="{ANN}";',
            "http.listeners=HTTP://127.0.0.1:0",
            f"log.dirs={self.data}",
            "mirror.links=dc1",
            "mirror.dc1.bootstrap.servers=127.0.0.1:1",
            "mirror.dc1.security.protocol=SASL_PLAINTEXT",
            "mirror.dc1.sasl.mechanism=PLAIN",
            f'mirror.dc1.sasl.jaas.config={PLAIN} username="link" password="{LINK}";',
        )
        self.client = self.write(
            "client.properties",
            "security.protocol=SASL_PLAINTEXT",
            "sasl.mechanism=PLAIN",
            f'sasl.jaas.config={PLAIN} username="ann" password="{ANN}";',
        )

    def write(self, name: str, *lines: str) -> str:
        """Write a file of settings; return its path."""
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def test_no_secret(self) -> None:
        """States, facts, log and settings are in the archive, and neither a password nor the record."""
        self.run_command("up", "--config", self.config, "--daemon")
        self.addCleanup(self.run_command, "stop", "--data", self.data)
        note = read_note(self.data)
        assert note is not None
        with open(os.path.join(self.data, "kafkatx.log"), "a", encoding="utf-8") as file:
            file.write(f"a plugin says: password={LOGGED}\n")
        asked = ("-b", note.bootstrap, "--command-config", self.client)
        passwords = self.write("password", SCRAM)
        self.run_command("produce", "orders", self.write("lines", VALUE), *asked)
        self.run_command("users", "add", "bob", "--password-file", passwords, *asked)
        self.run_command("quotas", "set", "producer_byte_rate=1000000", "--user", "bob", *asked)
        path = os.path.join(self.dir, "bundle.tar.gz")
        self.run_command("debug", "bundle", "-o", path, "--config", self.config, *asked)
        found = self.texts(path)
        for text, name in (
            ('"orders"', "cluster/topics.json"),
            ("bob", "cluster/quotas.json"),
            ("dc1", "cluster/mirrors.json"),
            ("open.files", "brokers/facts.json"),
            ("sasl.enabled.mechanisms", "brokers/0/settings.json"),
            ("is ready", "files/kafkatx.log"),
            ("sasl.jaas.config=[hidden]", "files/server.properties"),
            ("security.inter.broker.protocol=SASL_PLAINTEXT", "files/server.properties"),
            ("password=[hidden]", "files/kafkatx.log"),
            ("Max open files", "process/limits"),
            ('"check"', "doctor.json"),
            ("kafka_server_", "brokers/0/metrics.txt"),
        ):
            self.assertIn(text, found[name], name)
        for secret in (*PASSWORDS, VALUE):
            self.assertEqual([name for name, text in found.items() if secret in text], [], secret)

    def texts(self, path: str) -> dict[str, str]:
        """Return the texts of an archive by name."""
        with tarfile.open(path) as archive:
            return {
                member.name.split("/", 1)[1]: file.read().decode()
                for member in archive
                if (file := archive.extractfile(member)) is not None
            }
