"""The addresses for the first connection to a cluster, and the text of addresses. Pure.

They come from settings here (``bootstrap.servers``, ``broker.list``), or from a ZooKeeper
(:mod:`kafkatx.client.discovery`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, zookeeper
from kafkatx.errors import SettingError

DEFAULT_PORT = 9092
Address = tuple[str, int]

_ID = re.compile(r"\d+:(?=[^:]|\[)(?=.*:)", re.ASCII)
"""The broker id in ``0:host:9092`` and ``0:[::1]:9092``; ``0:9092`` and ``1::2`` have none."""

_LISTENER = re.compile(r"^(?!https?:)\w+://", re.ASCII | re.IGNORECASE)
"""The name of a listener; the broker's port for HTTP is not for clients of Kafka."""


class Addresses(Protocol):
    """The addresses for the first connection to a cluster, and for others when no known broker answers."""

    @property
    def where(self) -> str:
        """The addresses or their source, for messages."""

    @property
    def known(self) -> Sequence[Address]:
        """The addresses, as far as they are known without waiting."""

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change of :attr:`known`."""

    async def find(self) -> Sequence[Address]:
        """Return the addresses; wait for the first ones.

        :raises ConnectionFailed: the source does not answer, or has none.
        """

    async def close(self) -> None:
        """End the connection to the source, if there is one."""


class StaticAddresses:
    """Addresses that do not change."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self.known: Sequence[Address] = list(addresses)
        self.where = ", ".join(map(format_address, self.known))

    def listen(self, listener: Callable[[], None]) -> None:
        """Do nothing: there are no changes."""

    async def find(self) -> Sequence[Address]:
        """Return the addresses."""
        return self.known

    async def close(self) -> None:
        """Do nothing."""


def uses_zookeeper(settings: ClientSettings) -> bool:
    """Return True if the addresses are to be found in ZooKeeper.

    ``bootstrap.servers`` takes precedence over ``zookeeper.connect``, which a consumer may need for its
    group; that takes precedence over ``broker.list``, as in Kafka 0.7.
    """
    if settings.is_set(common.BOOTSTRAP_SERVERS):
        return False
    return bool(settings[zookeeper.ZOOKEEPER_CONNECT])


def static_addresses(settings: ClientSettings) -> StaticAddresses:
    """Return the addresses of ``bootstrap.servers`` or ``broker.list``.

    :raises SettingError: both are set, or neither, or one is malformed.
    """
    servers, brokers = settings[common.BOOTSTRAP_SERVERS], settings[common.BROKER_LIST]
    if servers and brokers:
        raise SettingError("bootstrap.servers and broker.list are both set: leave one out")
    return StaticAddresses(parse_broker_list(brokers) if brokers else parse_bootstrap(servers))


def parse_broker_list(entries: Iterable[str]) -> list[Address]:
    """Parse the addresses of ``broker.list``: ``0:host:9092`` (Kafka 0.7) or ``host:9092`` (Kafka 0.8).

    :raises SettingError: an entry is not of that form.
    """
    return parse_bootstrap(_ID.sub("", entry.strip(), count=1) for entry in entries)


def parse_bootstrap(bootstrap: str | Iterable[str]) -> list[Address]:
    """Split ``host:port,host:port``; the port may be left out (9092); IPv6 is ``[::1]:9092``.

    The name of a listener may stand before an address, as in ``PLAINTEXT://host:9092``. It means nothing, as
    for the Java client: ``security.protocol`` decides.

    :raises SettingError: an entry is not of that form.
    """
    entries = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
    addresses = [_address(entry.strip()) for entry in entries if entry.strip()]
    if not addresses:
        raise SettingError("bootstrap.servers is empty: give HOST:PORT, for example 127.0.0.1:9092")
    return addresses


def format_address(address: Address) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _address(entry: str) -> Address:
    address = _LISTENER.sub("", entry, count=1)
    if address.startswith("["):
        host, closing, rest = address[1:].partition("]")
        port = rest[1:] if rest[:1] == ":" else rest
        good = bool(closing) and rest[:1] in ("", ":")
    elif address.count(":") > 1:
        host, port, good = address, "", True
    else:
        host, _, port = address.partition(":")
        good = True
    good = good and "/" not in host
    if not good or not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise SettingError(f"bootstrap server {entry!r}: give HOST:PORT, for example 127.0.0.1:9092")
    return host, int(port or DEFAULT_PORT)
