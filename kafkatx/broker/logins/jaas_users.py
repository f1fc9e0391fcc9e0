"""Login modules of a broker's settings, and the users of PLAIN in them. Reads the JAAS file at the start."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from zope.interface import implementer

from kafkatx.config.listeners import ListenerConfig
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.interfaces.security.logins import ICredentialsChecker
from kafkatx.security.jaas import JaasError, LoginModule, parse_entry, parse_section

SECTION = "KafkaServer"


def login_module(values: ListenerConfig, listener: str, mechanism: str) -> LoginModule | None:
    """Return the login module of a mechanism of a listener; None if the settings have none.

    :param values: the settings of the listener.
    :raises SettingError: it is malformed, or the JAAS file cannot be read.
    """
    own = values.of_mechanism(mechanism)
    text, path = own.own(s.SASL_JAAS_CONFIG), values[s.KAFKATX_JAAS_FILE]
    try:
        if text is not None:
            return parse_entry(text, mechanism)
    except JaasError as error:
        raise SettingError(f"{own.name_of(s.SASL_JAAS_CONFIG)}: {error}") from None
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return parse_section(file.read(), (f"{listener.lower()}.{SECTION}", SECTION), mechanism)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingError(f"{s.KAFKATX_JAAS_FILE.name}={path}: it cannot be read: {reason}") from None
    except JaasError as error:
        raise SettingError(f"{s.KAFKATX_JAAS_FILE.name}={path}: {error}") from None


@implementer(ICredentialsChecker)
class JaasUsers:
    """Checks users and passwords that are in the settings."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {name.encode(): password.encode() for name, password in users.items()}

    def requestAvatarId(self, credentials: Any) -> str:
        """Return the user's name.

        :raises UnauthorizedLogin: there is no such user, or the password is another.
        """
        password = self._users.get(credentials.username)
        matches = hmac.compare_digest(password or b"", credentials.password)
        if password is None or not matches:
            raise UnauthorizedLogin("wrong password, or unknown user")
        return str(credentials.username, "utf-8")
