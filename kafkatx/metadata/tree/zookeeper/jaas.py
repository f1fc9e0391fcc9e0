"""The user name and password in a JAAS file, as Apache Kafka's brokers have it for ZooKeeper. Pure.

``java.security.auth.login.config`` names such a file in Java (javax.security.auth.login.Configuration)::

    Client {
        org.apache.zookeeper.server.auth.DigestLoginModule required
        username="kafka"
        password="secret";
    };
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

SECTION = "Client"
"""Section that ZooKeeper's clients read."""
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/) | (?P<mark>[{}=;]) | "(?P<quoted>(?:\\.|[^"\\])*)" """
    r"""| (?P<word>(?:(?!//|/\*)[^\s{}=;"])+)""",
    re.DOTALL | re.VERBOSE,
)


_Token: TypeAlias = tuple[bool, str]
_OPEN, _CLOSE, _EQUALS = (True, "{"), (True, "}"), (True, "=")


class JaasError(Exception):
    """The text has no user name and password for ZooKeeper; the message says why."""


def read_credentials(text: str) -> tuple[str, str]:
    """Return the user name and password of the section ``Client``.

    :raises JaasError: there is no such section, or it has no name and password for DIGEST-MD5.
    """
    tokens = list(_tokens(text))
    try:
        start = tokens.index(_OPEN, tokens.index((False, SECTION)))
        section = tokens[start + 1 : tokens.index(_CLOSE, start)]
    except ValueError:
        raise JaasError(f"it has no section {SECTION} {{ ... }};") from None
    if section[:1] != [(False, MODULE)]:
        raise JaasError(f"its section {SECTION} has another module than {MODULE}, which is not supported")
    options = {
        name[1]: value[1]
        for name, mark, value in zip(section, section[1:], section[2:], strict=False)
        if mark == _EQUALS
    }
    try:
        return options["username"], options["password"]
    except KeyError as error:
        raise JaasError(f"its section {SECTION} has no {error.args[0]}") from None


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens: True and a mark, or False and a word."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            line = text.count("\n", 0, position) + 1
            raise JaasError(f"line {line} cannot be read")
        position = found.end()
        if found["quoted"] is not None:
            yield False, re.sub(r"\\(.)", r"\1", found["quoted"])
        elif found["skip"] is None:
            yield found["mark"] is not None, found[0]
