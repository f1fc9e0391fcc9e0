"""A network of TCP proxies in one process, :mod:`~tests.cluster.network.relay`. It starts that process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Any

from tests.cluster.network.relay import CLIENT, Direction

__all__ = ["CLIENT", "Direction", "Proxies", "both_ways"]


def both_ways(one: str, other: str) -> list[Direction]:
    """Return both directions between two places."""
    return [(one, other), (other, one)]


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
