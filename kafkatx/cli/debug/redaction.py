"""Removal of secrets from texts that leave the machine. Pure.

A setting is shown if the tables know it and it is no secret. Texts lose the values of all secrets that are
known, and what looks like one: ``password=...``, credentials, keys in PEM, tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kafkatx.config.listeners import override
from kafkatx.config.table import broker, kafka_only
from kafkatx.config.table.mirror.names import link_row
from kafkatx.config.table.row import HIDDEN, ConfigType

SHORTEST = 4
"""A known secret of fewer characters is not searched for: it would be in any text."""

_NAMES = (
    "passw(?:or)?d|passwd|secret|token|credential|api[._-]?key|private[._-]?key|authorization"
    "|stored_key|server_key|salt"
)
_PAIR = re.compile(
    rf"""(?ix)
    ( (?:{_NAMES}) [\w.-]{{0,60}} ["']? \s{{0,3}} [=:] \s{{0,3}} (?:bearer\s{{1,3}}|basic\s{{1,3}})? )
    ( "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [^\s,;"'{{}}\[\]]+ )
    """
)
"""A name that is one of a secret, and its value; a quoted one goes to the next quote."""

_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_URL = re.compile(r"(://)[^\s/@:]{1,200}:[^\s/@]{1,200}@")
_TOKEN = re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
"""A JSON Web Token."""

_IN_JAAS = re.compile(r"""(\w+)\s*=\s*"((?:[^"\\]|\\.)*)\"""")


class Redaction:
    """Removes secrets.

    :ivar secrets: values that are searched for, the longest first.
    """

    def __init__(self, settings: Iterable[Mapping[str, str]] = ()) -> None:
        found = {secret for each in settings for secret in secrets_of(each)}
        self.secrets = sorted(
            (secret for secret in found if len(secret) >= SHORTEST), key=lambda secret: (-len(secret), secret)
        )

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        text = _PEM.sub(HIDDEN, text)
        text = _URL.sub(rf"\1{HIDDEN}@", text)
        text = _TOKEN.sub(HIDDEN, text)
        return _PAIR.sub(rf"\1{HIDDEN}", text)

    def settings(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return settings without secrets; those that no table knows are hidden, too."""
        return {
            name: self.text(value) if is_public(name) else HIDDEN for name, value in sorted(values.items())
        }


def is_public(name: str) -> bool:
    """Return True if a table has the setting, and it is no secret."""
    setting = broker.SETTINGS.get(name) or link_row(name) or override(name)
    if setting is not None or is_secret(name):
        return setting is not None and setting.type is not ConfigType.PASSWORD
    aliases = {alias for row in broker.SETTINGS.values() for alias in row.aliases}
    return name in aliases or name in kafka_only.NAMES


def is_secret(name: str) -> bool:
    """Return True if a setting is a secret by its name: of a client, or one that no table knows."""
    return re.search(_NAMES, name, re.IGNORECASE) is not None or "jaas" in name.lower()


def secrets_of(settings: Mapping[str, str]) -> set[str]:
    """Return the secrets in settings: whole values, and the passwords of JAAS texts."""
    found: set[str] = set()
    for name, value in settings.items():
        setting = broker.SETTINGS.get(name) or link_row(name) or override(name)
        known = setting is not None and setting.type is ConfigType.PASSWORD
        if not value or not (known or (setting is None and is_secret(name))):
            continue
        found.add(value)
        found |= {text for key, text in _IN_JAAS.findall(value) if key.lower() not in ("username", "user")}
    return found
