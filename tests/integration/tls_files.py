"""Certificates of an authority for tests, in files."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

from kafkatx.tls.authority import Issued, issue, make_authority

HOSTS = ("localhost", "127.0.0.1")


class TlsFiles:
    """An authority, a broker's keystore and a user's, below a directory.

    :ivar ca: path of the authority's certificate.
    """

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.authority = make_authority("tests")
        self.ca = self.write("ca.pem", self.authority.certificate_pem)
        self.broker = self.issue("broker.pem", "broker", HOSTS)
        self.user = self.issue("user.pem", "alice")

    def write(self, name: str, data: bytes) -> str:
        """Write a file; return its path."""
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def issue(
        self,
        file: str,
        name: str,
        hosts: tuple[str, ...] = (),
        *,
        days_ago: int = 0,
        by: Issued | None = None,
    ) -> str:
        """Issue a certificate that is valid for 365 days, from *days_ago* on; return its path."""
        now = datetime.now(timezone.utc) - timedelta(days=days_ago)
        return self.write(file, issue(by or self.authority, name, hosts, now=now).keystore_pem())

    def broker_settings(self, **more: str) -> dict[str, str]:
        """Return the settings of a broker that listens with TLS, and further ones."""
        return {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.location": self.broker,
            "ssl.truststore.location": self.ca,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def client_settings(self, user: bool = False) -> dict[str, str]:
        """Return the settings of a client, with a user's certificate if asked for."""
        settings = {"security.protocol": "SSL", "ssl.truststore.location": self.ca}
        return {**settings, "ssl.keystore.location": self.user} if user else settings
