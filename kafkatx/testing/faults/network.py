"""The network of one embedded broker, which a test can cut: connections that it opens, and those it accepts.

It runs in the broker's thread. :class:`CuttableReactor` stands before the broker's reactor where connections
are opened: to the other brokers, and to the process that keeps the cluster's state.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.python.failure import Failure


class CuttableReactor:
    """A reactor that opens no connections while it is cut; in all else it is the broker's.

    :ivar is_cut: True between :meth:`cut` and :meth:`heal`.
    """

    def __init__(self, reactor: Any) -> None:
        self.is_cut = False
        self._reactor = reactor
        self._connectors: weakref.WeakSet[Any] = weakref.WeakSet()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def connectTCP(self, *args: Any, **options: Any) -> Any:
        """Open a TCP connection."""
        return self._connect(self._reactor.connectTCP, args[2], args, options)

    def connectUNIX(self, *args: Any, **options: Any) -> Any:
        """Open a connection to a Unix socket."""
        return self._connect(self._reactor.connectUNIX, args[1], args, options)

    def _connect(self, connect: Callable[..., Any], factory: Any, args: Any, options: Any) -> Any:
        if self.is_cut:
            refused = _RefusedConnector()
            self._reactor.callLater(
                0, factory.clientConnectionFailed, refused, Failure(Refused("cut by a test"))
            )
            return refused
        connector = connect(*args, **options)
        self._connectors.add(connector)
        return connector

    def cut(self) -> None:
        """Abort all connections that were opened here, and open no others."""
        self.is_cut = True
        for connector in list(self._connectors):
            if connector.state == "connected":
                connector.transport.abortConnection()
            else:
                connector.disconnect()

    def heal(self) -> None:
        """Open connections again."""
        self.is_cut = False

    def make_endpoint(self, reactor: IReactorTime, host: str, port: int) -> IStreamClientEndpoint:
        """Return the endpoint of another broker (``networkclient.connection.MakeEndpoint``)."""
        endpoint: IStreamClientEndpoint = TCP4ClientEndpoint(self, host, port)
        return endpoint


class _RefusedConnector:
    """The connector of an attempt that was refused at once."""

    def stopConnecting(self) -> None:
        """Do nothing: the attempt has failed."""

    def disconnect(self) -> None:
        """Do nothing: there is no connection."""
