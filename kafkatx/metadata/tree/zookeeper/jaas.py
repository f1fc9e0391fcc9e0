"""The user name and password in a JAAS file, as Apache Kafka's brokers have it for ZooKeeper. Pure.

``java.security.auth.login.config`` names such a file in Java (javax.security.auth.login.Configuration)::

    Client {
        org.apache.zookeeper.server.auth.DigestLoginModule required
        username="kafka"
        password="secret";
    };
"""

from __future__ import annotations

from kafkatx.security.jaas import CLOSE, EQUALS, OPEN, JaasError, tokens

SECTION = "Client"
"""Section that ZooKeeper's clients read."""
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"


def read_credentials(text: str) -> tuple[str, str]:
    """Return the user name and password of the section ``Client``.

    :raises JaasError: there is no such section, or it has no name and password for DIGEST-MD5.
    """
    found = list(tokens(text))
    try:
        start = found.index(OPEN, found.index((False, SECTION)))
        section = found[start + 1 : found.index(CLOSE, start)]
    except ValueError:
        raise JaasError(f"it has no section {SECTION} {{ ... }};") from None
    if section[:1] != [(False, MODULE)]:
        raise JaasError(f"its section {SECTION} has another module than {MODULE}, which is not supported")
    options = {
        name[1]: value[1]
        for name, mark, value in zip(section, section[1:], section[2:], strict=False)
        if mark == EQUALS
    }
    try:
        return options["username"], options["password"]
    except KeyError as error:
        raise JaasError(f"its section {SECTION} has no {error.args[0]}") from None
