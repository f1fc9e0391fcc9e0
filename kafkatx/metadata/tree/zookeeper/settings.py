"""The settings of a connection to ZooKeeper."""

from __future__ import annotations

from attrs import frozen


@frozen
class ZooKeeperSettings:
    """Servers, chroot and time-outs of a connection to ZooKeeper.

    :ivar connect: ``HOST:PORT,HOST:PORT/chroot``; the chroot is optional, and made if it is missing.
    :ivar session_timeout_s: time-out of sessions to ask for; the server bounds it.
    :ivar connection_timeout_s: how long to try to start a session.
    """

    connect: str
    session_timeout_s: float = 18.0
    connection_timeout_s: float = 18.0

    @property
    def hosts(self) -> str:
        """The servers without the chroot."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """The path below which the tree is; empty for all of ZooKeeper."""
        return self.connect[len(self.hosts) :].rstrip("/")
