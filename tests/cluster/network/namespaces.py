"""A network of Linux network namespaces, for each broker and ZooKeeper server one, on a bridge. Needs root.

A direction is cut by a blackhole route in the namespace of its source: packets are lost, connections stay. It
changes the network of this machine by ``ip``, for itself alone, and undoes that when it is closed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.cluster.network.places import CLIENT, Addresses, Direction
from tests.ports import free_port

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceNotMade(Exception):
    """This process may not make network namespaces; the message says which command failed."""


class NamespaceNetwork:
    """Places of a cluster in namespaces; clients are in that of this process."""

    name = "namespaces"

    def __init__(self) -> None:
        """Make the bridge.

        :raises NamespaceNotMade: this process is not root's, or the kernel lacks something.
        """
        self._number = os.getpid() % 250
        self._bridge = f"kfx{os.getpid() % 100_000}"
        self._subnet = f"10.213.{self._number}"
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._hosts: dict[str, str] = {CLIENT: f"{self._subnet}.254"}
        self._zookeepers: dict[str, int] = {}
        self._cut: set[Direction] = set()
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("addr", "add", f"{self._hosts[CLIENT]}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
        except NamespaceNotMade:
            self.close()
            raise

    def host(self, place: str) -> str:
        """Return the address of a place, whose namespace is made by the first call."""
        if place not in self._hosts:
            name, outer = self._name(place), f"{self._bridge}-{len(self._hosts)}"
            address = f"{self._subnet}.{len(self._hosts)}"
            self._hosts[place] = address
            _ip("netns", "add", name)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", outer, "master", self._bridge, "up")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
        return self._hosts[place]

    def place_zookeeper(self, place: str, port: int) -> None:
        """Add a ZooKeeper server."""
        self._zookeepers[place] = port

    def place_broker(self, broker_id: int) -> Addresses:
        """Return the addresses of a broker."""
        address = f"{self.host(str(broker_id))}:{free_port()}"
        servers = [f"{self.host(place)}:{port}" for place, port in self._zookeepers.items()]
        return Addresses(address, address, ",".join(servers))

    def inside(self, place: str) -> AbstractContextManager[None]:
        """Be in the namespace of a place, with this thread: what it starts and connects is there."""
        self.host(place)

        @contextmanager
        def enter() -> Iterator[None]:
            namespace = os.open(f"/run/netns/{self._name(place)}", os.O_RDONLY)
            try:
                _enter(namespace)
            finally:
                os.close(namespace)
            try:
                yield
            finally:
                _enter(self._home)

        return enter()

    def cut(self, directions: Iterable[Direction]) -> None:
        """Lose what goes in these directions, from now on."""
        for direction in directions:
            if direction not in self._cut:
                self._route("add", direction)
                self._cut.add(direction)

    def heal(self, directions: Iterable[Direction], *, reset: bool = False) -> None:
        """Free these directions; connections go on, as TCP sends again. There is no *reset* here."""
        for direction in directions:
            if direction in self._cut:
                self._cut.discard(direction)
                self._route("del", direction)

    def close(self) -> None:
        """Remove namespaces and bridge; processes that are still there lose their network."""
        self.heal(list(self._cut))
        for place in list(self._hosts):
            if place != CLIENT:
                subprocess.run(["ip", "netns", "del", self._name(place)], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)
        self._hosts.clear()

    def _route(self, change: str, direction: Direction) -> None:
        source, target = direction
        where = [] if source == CLIENT else ["-n", self._name(source)]
        _ip(*where, "route", change, "blackhole", f"{self._hosts[target]}/32")

    def _name(self, place: str) -> str:
        return f"{self._bridge}-{place}"


def _ip(*arguments: str) -> None:
    """Run ``ip``.

    :raises NamespaceNotMade: it failed.
    """
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    except OSError as error:
        raise NamespaceNotMade(str(error)) from error
    if done.returncode:
        raise NamespaceNotMade(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
