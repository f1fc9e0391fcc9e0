"""The places of a network, and its interface. Pure.

A place is the id of a broker, ``zk1`` and so on, or ``client``. A direction is a pair of places.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

CLIENT = "client"

Direction = tuple[str, str]


class Addresses(NamedTuple):
    """The addresses of a broker, ``host:port``.

    :ivar listen: the broker's own; tests ask it here, whatever is cut.
    :ivar advertised: the one for clients and other brokers.
    :ivar zookeeper: of the ZooKeeper servers, with commas between, for this broker.
    """

    listen: str
    advertised: str
    zookeeper: str


class Network(Protocol):
    """Connections between places, whose directions can be cut."""

    name: str

    def host(self, place: str) -> str:
        """Return the host of a place."""

    def place_zookeeper(self, place: str, port: int) -> None:
        """Add a ZooKeeper server; before the brokers."""

    def place_broker(self, broker_id: int) -> Addresses:
        """Return the addresses of a broker."""

    def inside(self, place: str) -> AbstractContextManager[None]:
        """Start processes of a place within this."""

    def cut(self, directions: Iterable[Direction]) -> None:
        """Lose what goes in these directions, from now on."""

    def heal(self, directions: Iterable[Direction], *, reset: bool = False) -> None:
        """Free these directions.

        :param reset: close the connections that were cut, rather than let them go on.
        """

    def close(self) -> None:
        """End the network."""


def both_ways(one: str, *others: str) -> list[Direction]:
    """Return both directions between one place and others."""
    return [pair for other in others for pair in ((one, other), (other, one))]
