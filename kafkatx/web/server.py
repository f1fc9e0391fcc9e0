"""The factory of a listener's connections. It touches sockets, through the reactor that it is handed.

It imports Twisted Web with the first connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.logger import Logger

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
