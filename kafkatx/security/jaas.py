"""JAAS configurations, as Apache Kafka's ``sasl.jaas.config`` and ``java.security.auth.login.config``. Pure.

::

    org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";

A file has such entries in sections: ``KafkaServer { ... };``, or ``sasl_ssl.KafkaServer { ... };`` for one
listener. Source: javax.security.auth.login.Configuration, ``org.apache.kafka.common.security.JaasConfig``.

Words are as java.io.StreamTokenizer reads them: quotes are single or double, end in their own line, and have
the escapes of :data:`_ESCAPES`. More characters than there need no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

MODULES: Mapping[str, str] = {
    "PLAIN": PLAIN,
    "SCRAM-SHA-256": SCRAM,
    "SCRAM-SHA-512": SCRAM,
    "OAUTHBEARER": OAUTHBEARER,
}
"""The login module of each mechanism: Apache Kafka's class names mean ours."""

_FLAGS = ("required", "requisite", "sufficient", "optional")
_USER = "user_"

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/) | (?P<mark>[{}=;])
    | "(?P<double>(?:\\.|[^"\\\r\n])*)" | '(?P<single>(?:\\.|[^'\\\r\n])*)'
    | (?P<word>(?:(?!//|/\*)[^\s{}=;"'])+)""",
    re.DOTALL | re.VERBOSE,
)

_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
"""The character of a letter after a backslash. Up to three octal digits are one; others are themselves."""

Token: TypeAlias = tuple[bool, str]
"""True and a mark, or False and a word."""

OPEN, CLOSE, EQUALS, END = (True, "{"), (True, "}"), (True, "="), (True, ";")


class JaasError(Exception):
    """The text is not a JAAS configuration of the expected form; the message has no value of it."""


@attrs.frozen
class LoginModule:
    """An entry: a login module's class and its options."""

    module: str
    options: Mapping[str, str] = attrs.field(repr=False)

    @property
    def users(self) -> dict[str, str]:
        """The passwords of the users that options ``user_NAME`` define (PLAIN)."""
        return {name[len(_USER) :]: text for name, text in self.options.items() if name.startswith(_USER)}

    @property
    def login(self) -> tuple[str, str] | None:
        """The user name and password of a client, or of a broker that is one; None if they are not there."""
        name, password = self.options.get("username"), self.options.get("password")
        return None if name is None or password is None else (name, password)


def parse_entry(text: str, mechanism: str) -> LoginModule:
    """Read the one entry of a ``sasl.jaas.config``.

    :raises JaasError: it is malformed, or its login module is not that of the mechanism.
    """
    entries = list(_entries(list(tokens(text))))
    if len(entries) != 1:
        raise JaasError(f"it has {len(entries)} login modules, and should have one")
    return _of_mechanism(entries[0], mechanism)


def parse_section(text: str, names: tuple[str, ...], mechanism: str) -> LoginModule | None:
    """Return the entry for a mechanism in the first section of a file that has one of these names.

    :return: None if no such section has an entry with the mechanism's login module.
    :raises JaasError: the file is malformed.
    """
    sections = _sections(list(tokens(text)))
    for name in names:
        for entry in sections.get(name, ()):
            if entry.module == MODULES[mechanism]:
                return entry
    return None


def _of_mechanism(entry: LoginModule, mechanism: str) -> LoginModule:
    wanted = MODULES[mechanism]
    if entry.module != wanted:
        raise JaasError(f"its login module is {entry.module}; {mechanism} needs {wanted}")
    return entry


def _sections(found: list[Token]) -> dict[str, list[LoginModule]]:
    sections: dict[str, list[LoginModule]] = {}
    at = 0
    while at < len(found):
        try:
            end = found.index(CLOSE, at)
        except ValueError:
            raise JaasError("a section has no }") from None
        if found[at][0] or found[at + 1 : at + 2] != [OPEN]:
            raise JaasError("a section must have the form NAME { ... };")
        sections[found[at][1]] = list(_entries(found[at + 2 : end]))
        at = end + 1 + (found[end + 1 : end + 2] == [END])
    return sections


def _entries(found: list[Token]) -> Iterator[LoginModule]:
    while found:
        try:
            end = found.index(END)
        except ValueError:
            raise JaasError("an entry has no ; at its end") from None
        yield _entry(found[:end])
        found = found[end + 1 :]


def _entry(found: list[Token]) -> LoginModule:
    if len(found) < 2 or found[0][0] or found[1][1].lower() not in _FLAGS:
        raise JaasError('an entry must have the form CLASS required name="value" ...;')
    options = {}
    for at in range(2, len(found), 3):
        option = found[at : at + 3]
        if [mark for mark, _ in option] != [False, True, False] or option[1] != EQUALS:
            raise JaasError(f'option {at // 3 + 1} of {found[0][1]} does not have the form name="value"')
        options[option[0][1]] = option[2][1]
    return LoginModule(found[0][1], options)


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text.

    :raises JaasError: a quote or a comment has no end.
    """
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            line = text.count("\n", 0, position) + 1
            raise JaasError(f"a quote or a comment that begins in line {line} has no end")
        position = found.end()
        if found["skip"] is not None:
            continue
        quoted = found["single"] if found["double"] is None else found["double"]
        yield found["mark"] is not None, found[0] if quoted is None else _ESCAPE.sub(_unescaped, quoted)


def _unescaped(escape: re.Match[str]) -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _ESCAPES.get(text, text)
