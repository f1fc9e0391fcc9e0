"""The broker that clients log in at, with the files of an authority and the tokens of an issuer."""

from __future__ import annotations

import os
import shutil
import tempfile
import time

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.credentials import Credentials
from kafkatx.security.jaas import PLAIN
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from kafkatx.tls.authority import issue, make_authority
from tests.broker.logins.tokens.issuer import ISSUER, key_set, token
from tests.clients.security.ways import MUTUAL, PASSWORD, USER, Files, Given
from tests.ports import free_port

HOSTS = ("localhost", "127.0.0.1")
PARTITIONS = 3
STARTS = 4


class SecuredBroker:
    """A process of kafkatx with a listener for SASL over TLS, one for client certificates, one for the test.

    :param session_ms: time after which clients have to log in again; 0: never, but when their token expires.
    """

    def __init__(self, session_ms: int = 0) -> None:
        self._folder = tempfile.mkdtemp(prefix="kafkatx-clients-security-")
        self.files = self._make_files()
        ports = {name: free_port() for name in ("PLAINTEXT", "SASL_SSL", "MTLS")}
        self._addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        users = f'{PLAIN} required user_{USER}="{PASSWORD}";'
        self.broker = EmbeddedBroker(
            {
                "listeners": ",".join(f"{name}://{at}" for name, at in self._addresses.items()),
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,MTLS:SSL",
                "inter.broker.listener.name": "PLAINTEXT",
                "ssl.keystore.location": self._write("broker.pem", self._broker),
                "ssl.truststore.location": self.files.ca,
                "listener.name.mtls.ssl.client.auth": "required",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
                "listener.name.sasl_ssl.plain.sasl.jaas.config": users,
                "listener.name.sasl_ssl.connections.max.reauth.ms": str(session_ms),
                "sasl.oauthbearer.jwks.endpoint.url": f"file://{self._write('keys.json', key_set('a'))}",
                "sasl.oauthbearer.expected.issuer": ISSUER,
                "sasl.oauthbearer.clock.skew.seconds": "0",
                "num.partitions": str(PARTITIONS),
            },
            data_dir=os.path.join(self._folder, "data"),
            run_in="process",
        )

    def _make_files(self) -> Files:
        authority = make_authority("tests")
        self._broker = issue(authority, "broker", HOSTS).keystore_pem()
        user = issue(authority, USER)
        return Files(
            self._write("ca.pem", authority.certificate_pem),
            self._write("user.crt", user.certificate_pem),
            self._write("user.key", user.key_pem()),
            self._write("user.pem", user.keystore_pem()),
            self._write("token", b""),
        )

    def _write(self, name: str, data: bytes) -> str:
        path = os.path.join(self._folder, name)
        with open(f"{path}.new", "wb") as file:
            file.write(data)
        os.replace(f"{path}.new", path)  # clients may read it meanwhile
        return path

    def start(self) -> None:
        """Start it; add the user. A machine with much else to do may be slow."""
        for left in range(STARTS - 1, -1, -1):
            try:
                self.broker.start()
                break
            except BrokerDidNotStart:
                if not left:
                    raise
        with Cluster(self._addresses["PLAINTEXT"]) as cluster:
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                Credentials(cluster).set_password(USER, PASSWORD, mechanism)

    def renew_token(self, seconds: int) -> None:
        """Write a token that is valid for some seconds."""
        now_s = int(time.time())
        self._write("token", token(iat=now_s, exp=now_s + seconds, scope="kafka").encode())

    def new_topic(self, name: str) -> None:
        """Create a topic."""
        with Cluster(self._addresses["PLAINTEXT"]) as cluster:
            cluster.topic(name, allow_auto_create=True)

    def records(self, topic: str) -> int:
        """Return the number of records in a topic."""
        with Cluster(self._addresses["PLAINTEXT"]) as cluster:
            ends = cluster.offsets(topic, dict.fromkeys(range(PARTITIONS), -1))
            return sum(offset for offset, _time in ends.values())

    def given(self, way: str) -> Given:
        """Return what a program is told of a way to log in."""
        return Given(self._addresses["MTLS" if way == MUTUAL else "SASL_SSL"], way, self.files)

    def file(self, way: str) -> str:
        """Write what a program is told; return the path."""
        given = self.given(way)
        path = self._write(f"{way}.json", given.json().encode())
        lines = "".join(f"{name}={value}\n" for name, value in given.properties().items())
        self._write(f"{way}.json.properties", lines.encode())
        return path

    def ended_sessions(self) -> int:
        """Return the number of connections that were closed because their session had ended."""
        return self.broker.log.text().count("its session has ended")

    def close(self) -> None:
        """Kill it and remove its data."""
        self.broker.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
