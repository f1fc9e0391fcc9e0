"""``listeners`` and ``advertised.listeners``: addresses to listen on and addresses for clients. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kafkatx.config.table import network
from kafkatx.config.table.replication import INTER_BROKER_LISTENER_NAME as REPLICA_LISTENER
from kafkatx.config.table.replication import SECURITY_INTER_BROKER_PROTOCOL as REPLICA_PROTOCOL
from kafkatx.config.table.row import Setting
from kafkatx.config.table.security import sasl, tls
from kafkatx.errors import SettingError

T = TypeVar("T")

_LISTENER = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]+)://(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[0-9A-Za-z_.-]+)?)\]|(?P<host>[^:/\[\]\s]*)):(?P<port>-?[0-9]{1,5})"
)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The security protocols that a listener can have."""

HTTP_PROTOCOLS = {"HTTP": "PLAINTEXT", "HTTPS": "SSL"}
"""The security protocols of listeners for HTTP, by their names."""

_EVERY_INTERFACE = ("", "0.0.0.0", "::")


OVERRIDE = "listener.name."
"""The prefix of a setting of one listener: ``listener.name.<name in lower case>.<setting>``."""


def override(name: str) -> Setting[object] | None:
    """Return the setting that a name with the prefix of a listener sets; None if it is no such name."""
    if not name.startswith(OVERRIDE):
        return None
    _listener, _dot, rest = name[len(OVERRIDE) :].partition(".")
    found = tls.BY_LISTENER.get(rest) or network.BY_LISTENER.get(rest) or sasl.BY_LISTENER.get(rest)
    mechanism, _dot, of_mechanism = rest.partition(".")
    if found is None and mechanism.upper() in sasl.MECHANISMS:
        return sasl.BY_MECHANISM.get(of_mechanism)
    return found


def check_overrides(explicit: Mapping[str, str]) -> None:
    """Check the settings of single listeners.

    :raises SettingError: a value is not allowed.
    """
    for name, text in explicit.items():
        setting = override(name)
        if setting is not None:
            setting.parse(text, name)


class _Config(Protocol):
    def __getitem__(self, setting: Setting[T], /) -> T:
        """Return the value for all listeners."""


class ListenerConfig:
    """The settings of one listener, or of a SASL mechanism of it: its own ones before those that are wider.

    :param whose: the listener, or the listener and the mechanism with a dot between.
    """

    def __init__(self, config: _Config, explicit: Mapping[str, str], whose: str) -> None:
        self._config = config
        self._explicit = explicit
        self._whose = whose.lower()

    def __getitem__(self, setting: Setting[T], /) -> T:
        text = self._explicit.get(self.name_of(setting))
        return self._config[setting] if text is None else setting.parse(text, self.name_of(setting))

    def own(self, setting: Setting[T]) -> T:
        """Return a value that was set for this listener or mechanism alone; else the default."""
        text = self._explicit.get(self.name_of(setting))
        return setting.default if text is None else setting.parse(text, self.name_of(setting))

    def of_mechanism(self, mechanism: str) -> ListenerConfig:
        """Return the settings of a SASL mechanism of this listener."""
        return ListenerConfig(self, self._explicit, f"{self._whose}.{mechanism}")

    def name_of(self, setting: Setting[object]) -> str:
        """Return the whole name of a setting of this listener or mechanism."""
        return f"{OVERRIDE}{self._whose}.{setting.name}"


class Listener(NamedTuple):
    """One item of ``listeners``: ``PLAINTEXT://127.0.0.1:9092``.

    ``host`` is an address or a name without brackets, or empty for every interface; ``port`` 0 is any
    free port. ``protocol`` is the security protocol, one of :data:`PROTOCOLS`.
    """

    name: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"

    @property
    def has_tls(self) -> bool:
        """True if its connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """True if its clients have to log in."""
        return self.protocol.startswith("SASL")

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
    """Parse listeners for HTTP, whose names are HTTP or, with TLS, HTTPS.

    :param setting: the name of the setting, for error messages.
    :raises SettingError: an item is neither ``HTTP://host:port`` nor ``HTTPS://host:port``.
    """
    found = []
    for item in items:
        (listener,) = parse_listeners(setting, [item])
        protocol = HTTP_PROTOCOLS.get(listener.name)
        if protocol is None:
            raise SettingError(
                f"{setting}={listener}: it must be HTTP://host:port, or HTTPS://host:port for TLS"
            )
        found.append(listener._replace(protocol=protocol))
    return tuple(found)


def for_clients(
    listeners: Sequence[Listener], protocol_map: Sequence[str], controllers: Sequence[str]
) -> tuple[Listener, ...]:
    """Return the listeners that Kafka clients can use, without those of controllers.

    :param protocol_map: items ``NAME:PROTOCOL`` of listener.security.protocol.map.
    :param controllers: controller.listener.names.
    :raises SettingError: a listener has no protocol, two have the same address, or there is no listener for
        clients.
    """
    protocols = _protocols(protocol_map)
    usable = []
    for listener in listeners:
        if listener.name in map(str.upper, controllers):
            continue
        protocol = protocols.get(listener.name)
        if protocol is None:
            raise SettingError(
                f"listeners={listener}: no security protocol for {listener.name}; "
                f"add {listener.name}:PLAINTEXT to listener.security.protocol.map"
            )
        usable.append(listener._replace(protocol=protocol))
    if not usable:
        raise SettingError(
            f"listeners={','.join(map(str, listeners))}: no listener for clients; add PLAINTEXT://127.0.0.1:9092"
        )
    addresses = [(listener.host, listener.port) for listener in usable if listener.port]
    if len(set(addresses)) < len(addresses):
        raise SettingError(f"listeners={','.join(map(str, usable))}: two listeners have the same address")
    return tuple(usable)


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


def check_inter_broker(values: Mapping[str, Any], listeners: Sequence[Listener]) -> None:
    """Reject a listener for brokers that does not exist.

    :raises SettingError: ``inter.broker.listener.name`` or ``security.inter.broker.protocol`` is not the name
        of a listener for clients, or both are set.
    """
    name, protocol = values[REPLICA_LISTENER.name], values[REPLICA_PROTOCOL.name]
    if name is not None and protocol is not None:
        raise SettingError(
            f"{REPLICA_LISTENER.name}={name}: {REPLICA_PROTOCOL.name}={protocol} is set, too;"
            " remove one of them"
        )
    setting = REPLICA_LISTENER if protocol is None else REPLICA_PROTOCOL
    wanted = inter_broker_name(values)
    if wanted is not None and wanted not in [listener.name for listener in listeners]:
        raise SettingError(
            f"{setting.name}={values[setting.name]}: there is no such listener; add {wanted}://host:port to"
            f" listeners, and {wanted}:{protocol or 'PLAINTEXT'} to listener.security.protocol.map"
        )


def inter_broker_name(values: Mapping[str, Any]) -> str | None:
    """Return the name of the listener for other brokers; None if the settings name none."""
    name: str | None = values[REPLICA_LISTENER.name] or values[REPLICA_PROTOCOL.name]
    return None if name is None else name.upper()


def _protocols(protocol_map: Sequence[str]) -> Mapping[str, str]:
    protocols = {}
    for item in protocol_map:
        name, colon, protocol = item.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise SettingError(
                f"listener.security.protocol.map={item}: an item must be NAME:PROTOCOL with one of "
                f"{', '.join(PROTOCOLS)}"
            )
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
