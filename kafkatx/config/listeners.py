"""``listeners`` and ``advertised.listeners``: addresses to listen on and addresses for clients. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafkatx.errors import SettingError

_LISTENER = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]+)://(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[0-9A-Za-z_.-]+)?)\]|(?P<host>[^:/\[\]\s]*)):(?P<port>-?[0-9]{1,5})"
)
_EVERY_INTERFACE = ("", "0.0.0.0", "::")


class Listener(NamedTuple):
    """One item of ``listeners``: ``PLAINTEXT://127.0.0.1:9092``.

    ``host`` is an address or a name without brackets, or empty for every interface; ``port`` 0 is any
    free port.
    """

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{bracketed(self.host)}:{self.port}"


def bracketed(host: str) -> str:
    """Return a host for the form ``host:port``: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Return True for a host that only this machine can reach."""
    return host in ("localhost", "::1") or re.fullmatch(r"127\.[0-9.]+", host) is not None


def parse_listeners(setting: str, items: Sequence[str]) -> tuple[Listener, ...]:
    """Parse each item of a list of listeners.

    :param setting: the name of the setting, for error messages.
    :raises SettingError: an item is not ``NAME://host:port``, or two items have the same name.
    """
    found: list[Listener] = []
    for item in items:
        match = _LISTENER.fullmatch(item)
        port = int(match["port"]) if match else -1
        if not match or not 0 <= port <= 65535:
            raise SettingError(
                f"{setting}={item}: a listener must be NAME://host:port with a port from 0 to 65535, "
                "for example PLAINTEXT://127.0.0.1:9092"
            )
        found.append(Listener(match["name"].upper(), match["ipv6"] or match["host"] or "", port))
    names = [listener.name for listener in found]
    if len(set(names)) < len(names):
        raise SettingError(f"{setting}={','.join(items)}: each listener must have its own name")
    return tuple(found)


def parse_http_listeners(setting: str, items: Sequence[str]) -> tuple[Listener, ...]:
    """Parse listeners for HTTP, which all have the name HTTP.

    :param setting: the name of the setting, for error messages.
    :raises SettingError: an item is not ``HTTP://host:port``.
    """
    found = [listener for item in items for listener in parse_listeners(setting, [item])]
    for listener in found:
        if listener.name != "HTTP":
            raise SettingError(f"{setting}={listener}: only HTTP is supported; use HTTP://127.0.0.1:8081")
    return tuple(found)


def for_clients(
    listeners: Sequence[Listener], protocol_map: Sequence[str], controllers: Sequence[str]
) -> tuple[Listener, ...]:
    """Return the listeners that Kafka clients can use, without those of controllers.

    :param protocol_map: items ``NAME:PROTOCOL`` of listener.security.protocol.map.
    :param controllers: controller.listener.names.
    :raises SettingError: a listener needs TLS or SASL or has no protocol, two have the same address, or there
        is no listener for clients.
    """
    protocols = _protocols(protocol_map)
    usable = tuple(listener for listener in listeners if listener.name not in map(str.upper, controllers))
    for listener in usable:
        protocol = protocols.get(listener.name)
        if protocol is None:
            raise SettingError(
                f"listeners={listener}: no security protocol for {listener.name}; "
                f"add {listener.name}:PLAINTEXT to listener.security.protocol.map"
            )
        if protocol != "PLAINTEXT":
            raise SettingError(
                f"listeners={listener}: {protocol} is not supported yet; use a PLAINTEXT listener"
            )
    if not usable:
        raise SettingError(
            f"listeners={','.join(map(str, listeners))}: no listener for clients; add PLAINTEXT://127.0.0.1:9092"
        )
    addresses = [(listener.host, listener.port) for listener in usable if listener.port]
    if len(set(addresses)) < len(addresses):
        raise SettingError(f"listeners={','.join(map(str, usable))}: two listeners have the same address")
    return usable


def advertise(listener: Listener, port: int) -> tuple[str, int]:
    """Return the address to advertise for a listener without an advertised address.

    ``localhost`` is advertised as 127.0.0.1, since clients may resolve the name to another address; every
    interface as the machine's name.

    :param port: the bound port.
    """
    if listener.host in _EVERY_INTERFACE:
        import socket  # not needed to read settings

        return socket.gethostname(), port
    return ("127.0.0.1" if listener.host == "localhost" else listener.host), port


def check_advertised(listeners: Sequence[Listener]) -> None:
    """Reject addresses that no client can connect to.

    :raises SettingError: a host is empty or 0.0.0.0.
    """
    for listener in listeners:
        if listener.host in _EVERY_INTERFACE:
            host = listener.host or "an empty host"
            raise SettingError(
                f"advertised.listeners={listener}: clients cannot connect to {host}; "
                "use the host or address by which they reach the broker"
            )


def _protocols(protocol_map: Sequence[str]) -> Mapping[str, str]:
    protocols = {}
    for item in protocol_map:
        name, colon, protocol = item.partition(":")
        if not colon or protocol.strip().upper() not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
            raise SettingError(
                f"listener.security.protocol.map={item}: an item must be NAME:PROTOCOL with one of "
                "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
            )
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
