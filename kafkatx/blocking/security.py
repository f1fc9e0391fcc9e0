"""The connections of the blocking client: over TCP, or over TLS with ``security.protocol=SSL``."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common

Dial = Callable[[tuple[str, int], float], socket.socket]
"""Connects a socket to (host, port) within a time-out in seconds."""


def is_security(name: str) -> bool:
    """Return True if a client setting is about the security of connections."""
    return name == common.SECURITY_PROTOCOL.name or name.startswith("ssl.")


def dial_for(settings: ClientSettings) -> Dial:
    """Return the function that connects as settings say.

    :raises SettingError: a keystore or a truststore cannot be used, or the extra ``tls`` is not installed.
    """
    if settings[common.SECURITY_PROTOCOL] == "PLAINTEXT":
        return socket.create_connection
    from kafkatx.tls.extra import check_installed

    check_installed()
    from kafkatx.tls.plain_socket import tls_dial
    from kafkatx.tls.settings import load_tls

    return tls_dial(load_tls(settings))


def dial_with(properties: Mapping[str, str]) -> Dial:
    """Return the function that connects as the security settings among properties say.

    :raises SettingError: as :func:`dial_for`, or a setting is wrong.
    """
    chosen = {name: value for name, value in properties.items() if is_security(name)}
    return dial_for(ClientSettings.load("admin", chosen))
