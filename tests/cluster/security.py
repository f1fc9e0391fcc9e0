"""Certificates, users and rights of a cluster whose brokers, clients and ZooKeeper use TLS and logins.

Brokers log in at each other by SCRAM, and again and again; the administrator by PLAIN, which needs no state.
It writes files into a folder.
"""

from __future__ import annotations

import itertools
import os
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path

from kafkatx.blocking.admin.acls import Acls
from kafkatx.blocking.admin.credentials import Credentials
from kafkatx.security.acl.lines import parse_line
from kafkatx.security.jaas import PLAIN, SCRAM
from kafkatx.tls.authority import issue, make_authority
from tests.clients.security.ways import Files, Given
from tests.cluster.access import Access

MECHANISM = "SCRAM-SHA-512"
LISTENER = "SASL_SSL"
ADMIN, BROKER, CLIENT = "admin", "broker", "alice"
PASSWORD = "wonderland"
SESSION_MS = 20_000
"""Time after which brokers and clients log in again."""

RIGHTS = tuple(
    f"User:{CLIENT} all {what}" for what in ("topic:*", "group:*", "cluster", "transactional-id:*")
)
ASK_S = 10.0


class Security:
    """The authority, the files and the users.

    :param hosts: the hosts of the brokers and of ZooKeeper's servers.
    """

    def __init__(self, folder: Path, hosts: Mapping[str, str]) -> None:
        self._folder = folder / "tls"
        self._folder.mkdir(parents=True)
        self._hosts = dict(hosts)
        self._authority = make_authority("faults")
        self.files = Files(
            self._write("ca.pem", self._authority.certificate_pem), "", "", "", str(self._folder / "none")
        )
        for place in hosts:
            self.renew(place)

    def renew(self, place: str) -> int:
        """Give a broker or a ZooKeeper server a new certificate; return its serial number."""
        hosts = sorted({self._hosts[place], "127.0.0.1", "localhost"})
        issued = issue(self._authority, place, hosts)
        self._write(f"{place}.pem", issued.keystore_pem())
        return issued.certificate.serial_number

    def keystore(self, place: str) -> str:
        """Return the path of a keystore."""
        return str(self._folder / f"{place}.pem")

    def _write(self, name: str, data: bytes) -> str:
        path = self._folder / name
        new = self._folder / f"{name}.new"
        new.write_bytes(data)
        os.replace(new, path)
        return str(path)

    def broker_settings(self, place: str, listen: str, advertised: str) -> dict[str, str]:
        """Return the settings of a broker."""
        users = f'username="{BROKER}" password="{PASSWORD}"'
        return {
            "listeners": f"{LISTENER}://{listen}",
            "advertised.listeners": f"{LISTENER}://{advertised}",
            "inter.broker.listener.name": LISTENER,
            "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} required user_{ADMIN}="{PASSWORD}";',
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": f"{SCRAM} required {users};",
            "listener.name.sasl_ssl.connections.max.reauth.ms": str(SESSION_MS),
            "ssl.keystore.location": self.keystore(place),
            "ssl.truststore.location": self.files.ca,
            "authorizer.class.name": "acl",
            "super.users": f"User:{BROKER};User:{ADMIN}",
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.ssl.keystore.location": self.keystore(place),
            "zookeeper.ssl.truststore.location": self.files.ca,
        }

    def zookeeper_settings(self, place: str, port: int) -> dict[str, str]:
        """Return the settings of a ZooKeeper server with a port for clients with certificates."""
        trusted = self.files.ca
        return {
            "secureClientPort": str(port),
            "secureClientPortAddress": "0.0.0.0",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": self.keystore(place),
            "ssl.trustStore.location": trusted,
            "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        }

    def access(self, bootstrap: str, user: str, password: str = PASSWORD) -> Access:
        """Return the access of a user."""
        way = "PLAIN" if user == ADMIN else MECHANISM
        return Access(bootstrap, Given(bootstrap, way, self.files, user, password))

    def set_up(self, bootstrap: str) -> None:
        """Add the users and the rights, as the administrator."""
        with self.access(bootstrap, ADMIN).cluster() as cluster:
            for user in (BROKER, CLIENT):
                Credentials(cluster).set_password(user, PASSWORD, MECHANISM)
            Acls(cluster).create([parse_line(line) for line in RIGHTS])

    def serial(self, address: str) -> int | None:
        """Return the serial number of the certificate that a broker shows; None if it shows none."""
        from cryptography import x509

        host, _, port = address.rpartition(":")
        context = ssl.create_default_context(cafile=self.files.ca)
        try:
            with (
                socket.create_connection((host, int(port)), ASK_S) as connection,
                context.wrap_socket(connection, server_hostname=host) as secured,
            ):
                shown = secured.getpeercert(binary_form=True)
        except OSError:
            return None
        return None if shown is None else x509.load_der_x509_certificate(shown).serial_number


numbers = itertools.count(1)
"""Numbers of users that come and go."""
