"""A live broker, the addresses of its listeners, and its process."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Endpoint:
    """An address of a broker.

    :ivar listener: the listener's name.
    :ivar security_protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    """

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@attrs.frozen
class BrokerProcess:
    """The process of a broker, by which another one can tell that it has ended.

    :ivar boot_id: the boot of its machine; empty if that is not known.
    :ivar locks: for each log dir that it has locked, by path, the lock file: ``DEVICE:INODE``.
    """

    pid: int
    boot_id: str
    locks: Mapping[str, str]

    def has_taken(self, other: BrokerProcess) -> bool:
        """Return True if this process holds all the locks that the other one held, which has ended then.

        A lock file is the same if its device and inode are, within one boot. That of a copied data directory
        is another file, and its lock says nothing about the original.
        """
        held = set(self.locks.values())
        known = bool(self.boot_id) and bool(other.locks)
        return known and self.boot_id == other.boot_id and held.issuperset(other.locks.values())

    def __str__(self) -> str:
        return f"process {self.pid} with log.dirs={','.join(self.locks)} (boot {self.boot_id or 'unknown'})"


@attrs.frozen
class BrokerNode:
    """A live broker and the address that it advertises.

    :ivar epoch: the position of its registration in the order of all changes (KIP-380); -1 in a cluster of
        one broker.
    :ivar incarnation: version of its incarnation's node at its registration; that of a stopping broker is
        higher by now. -1 in a cluster of one broker.
    :ivar stopping: it is about to stop: it should lead nothing, and joins no in-sync replicas.
    :ivar clean: False if its machine has gone down since it last stopped in order: then its logs may lack
        records that it had acknowledged.
    :ivar internal: host and port for other brokers, if these are not ``host`` and ``port``.
    :ivar http: the address of its HTTP listener for other brokers, whose name is HTTP or HTTPS; None if it
        has none.
    :ivar endpoints: the addresses of all its listeners, if there are several; the first one is ``host`` and
        ``port``.
    """

    id: int
    host: str
    port: int
    rack: str | None = None
    epoch: int = -1
    incarnation: int = -1
    stopping: bool = False
    clean: bool = True
    internal: tuple[str, int] | None = None
    http: Endpoint | None = None
    endpoints: tuple[Endpoint, ...] = ()

    def address(self, listener: str) -> tuple[str, int]:
        """Return host and port for the clients of a listener; the first ones if it has no such listener."""
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint.host, endpoint.port
        return self.host, self.port

    @property
    def incarnation_version(self) -> int:
        """The version that its incarnation's node has now; a transaction that trusts this life checks it."""
        return self.incarnation + self.stopping
