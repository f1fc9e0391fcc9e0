"""A network of TCP proxies in one process, :mod:`~tests.cluster.network.relay`. It starts that process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tests.cluster.network.places import Addresses, Direction
from tests.cluster.network.relay import HOST
from tests.ports import free_port


class Proxies:
    """A proxy in front of each broker, and one for each broker in front of each ZooKeeper server.

    A place is the id of a broker, ``zk1`` and so on, or ``client``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocked: set[Direction] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.network.relay"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def listen(self, to: str, port: int, source: str | None = None) -> int:
        """Return the port of a new proxy of 127.0.0.1.

        :param to: the place of the server.
        :param port: its port.
        :param source: the place that connections come from; None: the relay finds the broker that made each.
        """
        answer: int = self._ask({"listen": source, "to": to, "port": port})["port"]
        return answer

    def cut(self, directions: Iterable[Direction]) -> None:
        """Hold back what goes in these directions, from now on."""
        self._blocked |= set(directions)
        self._ask({"block": sorted(self._blocked)})

    def heal(self, directions: Iterable[Direction], *, reset: bool = False) -> None:
        """Free these directions; held bytes arrive now.

        :param reset: close the connections instead.
        """
        if reset:
            self._ask({"reset": sorted(directions := set(directions))})
        self._blocked -= set(directions)
        self._ask({"block": sorted(self._blocked)})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise AssertionError("the process of the proxies has ended")
        found: dict[str, Any] = json.loads(answer)
        return found


class ProxyNetwork(Proxies):
    """Places of a cluster on 127.0.0.1, each behind proxies."""

    name = "proxies"

    def __init__(self) -> None:
        super().__init__()
        self._zookeepers: dict[str, int] = {}

    def host(self, place: str) -> str:
        """Return the host of a place."""
        return HOST

    def place_zookeeper(self, place: str, port: int) -> None:
        """Add a ZooKeeper server."""
        self._zookeepers[place] = port

    def place_broker(self, broker_id: int) -> Addresses:
        """Return the addresses of a broker."""
        port = free_port()
        proxied = self.listen(str(broker_id), port)
        servers = [
            f"{HOST}:{self.listen(place, server, str(broker_id))}"
            for place, server in self._zookeepers.items()
        ]
        return Addresses(f"{HOST}:{port}", f"{HOST}:{proxied}", ",".join(servers))

    def inside(self, place: str) -> AbstractContextManager[None]:
        """Start processes of a place within this."""
        return nullcontext()
