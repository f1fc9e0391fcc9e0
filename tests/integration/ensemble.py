"""An ensemble of three ZooKeeper servers for tests, whose servers can be killed and frozen."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from functools import lru_cache
from pathlib import Path

from kafkatx.testing.zookeeper import START_S, ZooKeeperServer
from tests.ports import free_port

SIZE = 3


class Ensemble:
    """Three servers of one ensemble, on 127.0.0.1, which serve when it is made."""

    def __init__(self) -> None:
        self._scratch = Path(tempfile.mkdtemp(prefix="kafkatx-ensemble-"))
        peers = {
            f"server.{number}": f"127.0.0.1:{free_port()}:{free_port()}" for number in range(1, SIZE + 1)
        }
        self.servers = [
            ZooKeeperServer(self._scratch / str(number), free_port(), tick_ms=500, heap_mb=64, settings=peers)
            for number in range(1, SIZE + 1)
        ]
        try:
            for number, server in enumerate(self.servers, 1):
                (server.folder / "data").mkdir(parents=True)
                (server.folder / "data" / "myid").write_text(f"{number}\n")
                server.start()
            self.wait()
        except BaseException:
            self.stop()
            raise

    def wait(self) -> None:
        """Wait until all servers serve."""
        for server in self.servers:
            server.wait()

    def restore(self) -> None:
        """Continue and start again what a test has stopped; wait until all servers serve."""
        for server in self.servers:
            server.thaw()
            if not server.is_running():
                server.start()
        self.wait()

    def leader(self) -> ZooKeeperServer:
        """Return the server that leads; wait for an election.

        :raises RuntimeError: none leads in time.
        """
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            for server in self.servers:
                if server.mode() == "leader":
                    return server
            time.sleep(0.05)
        raise RuntimeError("no ZooKeeper server leads")

    def followers(self) -> list[ZooKeeperServer]:
        """Return the servers that do not lead."""
        leader = self.leader()
        return [server for server in self.servers if server is not leader]

    def stop(self) -> None:
        """Kill the servers and remove their folders."""
        for server in self.servers:
            server.kill()
        shutil.rmtree(self._scratch, ignore_errors=True)


@lru_cache(maxsize=1)
def shared_ensemble() -> Ensemble:
    """Return the ensemble of this process, started by the first call and killed when the tests end."""
    ensemble = Ensemble()
    atexit.register(ensemble.stop)
    return ensemble
