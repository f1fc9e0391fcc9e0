"""The factory of a listener's connections. It touches sockets, through the reactor that it is handed.

It imports Twisted Web with the first connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.logger import Logger

from kafkatx.fair_shares import FairPlaces
from kafkatx.net.admission.limits import network_of
from kafkatx.net.admission.unauthenticated import Unauthenticated
from kafkatx.net.limited_log import LimitedLog
from kafkatx.web.budget import Budget
from kafkatx.web.limits import WebLimits
from kafkatx.web.site import Site

if TYPE_CHECKING:
    from kafkatx.web.channel import Channel


class WebServerFactory(ServerFactory):
    """The factory of a site's connections, within limits.

    :ivar listener: its name, HTTP or HTTPS.
    :ivar clock: the reactor.
    :ivar log: the log of lines that clients cause.
    :ivar unauthenticated: the connections whose TLS handshake is not done.
    :ivar channels: the open connections.
    :ivar places: those of them that count, by address.
    :ivar bodies: the bytes of all bodies.
    """

    _log = Logger()
    noisy = False
    tls_advice = "use https:// in its URL, or HTTP in http.listeners"

    def __init__(self, site: Site, limits: WebLimits, reactor: Any, listener: str = "HTTP") -> None:
        self.site = site
        self.limits = limits
        self.listener = listener
        self.clock: IReactorTime = reactor
        self.log = LimitedLog(self._log, reactor)
        self.unauthenticated = Unauthenticated(limits.max_unauthenticated_per_ip)
        self.channels: set[Channel] = set()
        self.places: FairPlaces[Channel] = FairPlaces(limits.max_connections)
        self.bodies = Budget(limits.max_held_bytes)
        self._reactor = reactor

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """Return a connection; None, which closes it, if there are too many.

        If all are taken, the one of the address with most that is idle longest gives way: so idle connections
        keep no client out, and busy ones only others of their own address.
        """
        from kafkatx.web.channel import Channel

        address = network_of(getattr(addr, "host", ""))
        self.places.most = self.limits.max_connections
        crowd = self.places.crowded(address)
        if crowd:
            idle = [channel for channel in crowd if not channel.is_busy]
            if not idle and crowd[0] in self.places.of(address):
                return None
            leaving = min(idle or crowd, key=Channel.active_s)
            self.places.remove(leaving)
            leaving.close()
        return Channel(self, self._reactor)

    def close_all(self) -> None:
        """Close all connections at once."""
        for channel in tuple(self.channels):
            channel.close()
