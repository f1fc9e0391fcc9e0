"""The connections of the blocking client, as ``security.protocol`` says: TCP or TLS, perhaps with a login."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from kafkatx.clientcore.login import ClientLogin, has_sasl, has_tls, login_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common

Dial = Callable[[tuple[str, int], float], socket.socket]
"""Connects a socket to (host, port) within a time-out in seconds."""


def is_security(name: str) -> bool:
    """Return True if a client setting is about the security of connections."""
    return name == common.SECURITY_PROTOCOL.name or name.startswith(("ssl.", "sasl."))


class SaslDial:
    """Connects sockets to brokers at which a client has to log in.

    :ivar login: the login, which each connection begins with.
    """

    def __init__(self, login: ClientLogin, below: Dial = socket.create_connection) -> None:
        self.login = login
        self._below = below

    def __call__(self, address: tuple[str, int], timeout_s: float) -> socket.socket:
        """Connect a socket."""
        return self._below(address, timeout_s)


def is_tls(name: str) -> bool:
    """Return True if a client setting is about TLS."""
    return name.startswith("ssl.")


def dial_for(settings: ClientSettings) -> Dial:
    """Return the function that connects as settings say.

    :raises SettingError: a keystore or a truststore cannot be used, the extra ``tls`` is not installed, or a
        setting of the login is missing or wrong.
    """
    dial: Dial = socket.create_connection
    if has_tls(settings):
        from kafkatx.tls.extra import check_installed

        check_installed()
        from kafkatx.tls.plain_socket import tls_dial
        from kafkatx.tls.settings import load_tls

        dial = tls_dial(load_tls(settings))
    if has_sasl(settings):
        login = login_of(settings)
        assert login is not None
        return SaslDial(login, dial)
    return dial


def dial_with(properties: Mapping[str, str]) -> Dial:
    """Return the function that connects as the security settings among properties say.

    :raises SettingError: as :func:`dial_for`, or a setting is wrong.
    """
    chosen = {name: value for name, value in properties.items() if is_security(name)}
    return dial_for(ClientSettings.load("admin", chosen))
