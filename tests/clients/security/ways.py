"""The ways in which clients log in, and what their programs are told of it. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

import attrs

from kafkatx.security.jaas import OAUTHBEARER, PLAIN, SCRAM

USER, PASSWORD = "alice", "wonderland"
MUTUAL = "mTLS"
WAYS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", MUTUAL)
"""Each over TLS: a mechanism of SASL, or the client's certificate alone."""


class Files(NamedTuple):
    """Paths: of PEM files, the token of the user, and the token's key as the broker has it."""

    ca: str
    certificate: str
    key: str
    keystore: str
    token: str


@attrs.frozen
class Given:
    """The order for a program, as JSON and in the names of the Java client."""

    bootstrap: str
    way: str
    files: Files
    user: str = USER
    password: str = PASSWORD

    @property
    def has_sasl(self) -> bool:
        """True if the client logs in by SASL."""
        return self.way != MUTUAL

    @property
    def protocol(self) -> str:
        """The security protocol."""
        return "SASL_SSL" if self.has_sasl else "SSL"

    def token(self) -> str:
        """Return the present token."""
        with open(self.files.token) as file:
            return file.read()

    def json(self) -> str:
        """Return it as JSON, with the paths beside the rest."""
        return json.dumps(
            {
                "bootstrap": self.bootstrap,
                "way": self.way,
                "user": self.user,
                "password": self.password,
                **self.files._asdict(),
            }
        )

    def properties(self) -> dict[str, str]:
        """Return it as settings of the Java client, without the handler of OAUTHBEARER's logins."""
        made = {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": self.protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.files.ca,
        }
        if not self.has_sasl:
            return made | {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.files.keystore}
        made["sasl.mechanism"] = self.way
        if self.way == "OAUTHBEARER":
            made["sasl.jaas.config"] = f"{OAUTHBEARER} required;"
            return made | {"sasl.oauthbearer.token.endpoint.url": f"file://{self.files.token}"}
        module = PLAIN if self.way == "PLAIN" else SCRAM
        login = f'username="{self.user}" password="{self.password}"'
        return made | {"sasl.jaas.config": f"{module} required {login};"}


def given_by(text: str) -> Given:
    """Read what :meth:`Given.json` has written."""
    told = json.loads(text)
    files = Files(**{name: told[name] for name in Files._fields})
    return Given(told["bootstrap"], told["way"], files, told["user"], told["password"])
