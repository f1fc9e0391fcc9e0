"""The factory of a listener's connections. It touches sockets, through the reactor that it is handed.

It imports Twisted Web with the first connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Protocol, ServerFactory

from kafkatx.web.budget import Budget
from kafkatx.web.limits import WebLimits
from kafkatx.web.site import Site

if TYPE_CHECKING:
    from kafkatx.web.channel import Channel


class WebServerFactory(ServerFactory):
    """The factory of a site's connections, within limits.

    :ivar channels: the open connections.
    :ivar bodies: the bytes of all bodies.
    """

    noisy = False

    def __init__(self, site: Site, limits: WebLimits, reactor: Any) -> None:
        self.site = site
        self.limits = limits
        self.channels: set[Channel] = set()
        self.bodies = Budget(limits.max_held_bytes)
        self._reactor = reactor

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """Return a connection; None, which closes it, if there are too many."""
        if len(self.channels) >= self.limits.max_connections:
            return None
        from kafkatx.web.channel import Channel

        return Channel(self, self._reactor)

    def close_all(self) -> None:
        """Close all connections at once."""
        for channel in tuple(self.channels):
            channel.close()

    def log(self, request: object) -> None:
        """Do nothing: requests are not logged one by one."""
