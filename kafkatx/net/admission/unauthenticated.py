"""The connections of a server whose handshake or login is not done: limited for each address. Pure."""

from __future__ import annotations

from typing import Protocol

from kafkatx.net.admission.limits import counted_address


class Droppable(Protocol):
    """A connection, or a part of one, that is not authenticated."""

    def drop(self, reason: str) -> None:
        """Close the connection, and log the reason."""


class Unauthenticated:
    """The connections that are not authenticated, by address; the oldest of an address is the first.

    One address cannot take the places of others: above its number it pushes out its own oldest.

    :ivar most: connections of one address (``kafkatx.unauthenticated.connections.max.per.ip``).
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._by_address: dict[str, dict[Droppable, None]] = {}
        self._addresses: dict[Droppable, str] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, connection: Droppable, host: str) -> None:
        """Add a connection; drop the oldest one of its address if there are too many."""
        address = counted_address(host)
        of_address = self._by_address.setdefault(address, {})
        if len(of_address) >= self.most:
            oldest = next(iter(of_address))
            self.remove(oldest)
            oldest.drop(
                f"kafkatx.unauthenticated.connections.max.per.ip={self.most} reached, and it is the oldest of"
                " its address"
            )
            of_address = self._by_address.setdefault(address, {})
        of_address[connection] = None
        self._addresses[connection] = address

    def remove(self, connection: Droppable) -> None:
        """Forget a connection that has authenticated, or ended."""
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        of_address = self._by_address[address]
        del of_address[connection]
        if not of_address:
            del self._by_address[address]
