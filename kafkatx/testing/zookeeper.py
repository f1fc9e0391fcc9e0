"""A ZooKeeper server for trials and tests, from the jars in pyspark: ``python -m kafkatx.testing.zookeeper``.

It needs Java and ``kafkatx[spark]``. It listens on 127.0.0.1 only, and has none of the settings that a server
with data of any worth needs. Starts a process, and writes its settings and data into a folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO

PORT = 2181
FOLDER = "zookeeper-data"
START_S = 60.0
POLL_S = 0.05

_JAVA = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dzookeeper.4lw.commands.whitelist=ruok,srvr,mntr",
)
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class ZooKeeperDidNotStart(Exception):
    """The server cannot be started; the message says why."""


class ZooKeeperServer:
    """A ZooKeeper server process, which :meth:`start` starts.

    :param folder: folder of its settings and data; made if it is missing.
    :param port: port for clients, on 127.0.0.1.
    :param tick_ms: its unit of time; sessions last from 2 to 20 of it.
    :param heap_mb: memory of its Java heap.
    :param settings: more settings of ``zoo.cfg``, or others for those here.
    :param java: more options of the Java command.
    """

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        tick_ms: int = 2000,
        heap_mb: int = 96,
        settings: Mapping[str, str] = MappingProxyType({}),
        java: Sequence[str] = (),
    ) -> None:
        self.port = port
        self.folder = folder.absolute()
        self._java = (f"-Xmx{heap_mb}m", *_JAVA, *java)
        self._settings = {
            "tickTime": str(tick_ms),
            "initLimit": "10",
            "syncLimit": "5",
            "dataDir": str(self.folder / "data"),
            "clientPort": str(port),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "maxClientCnxns": "0",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, or start it again with its data; do not wait for it.

        :raises ZooKeeperDidNotStart: there is no Java, or no pyspark.
        """
        home = os.environ.get("JAVA_HOME")
        command = os.path.join(home, "bin", "java") if home else "java"
        java = shutil.which(command)
        if java is None:
            raise ZooKeeperDidNotStart(
                f"there is no {command} command; on Debian: apt-get install default-jre-headless,"
                " or set JAVA_HOME"
            )
        (self.folder / "data").mkdir(parents=True, exist_ok=True)
        config = self.folder / "zoo.cfg"
        config.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        with open(self.folder / "zookeeper.log", "ab") as log:
            self._process = subprocess.Popen(
                [java, *self._java, "-cp", str(jars() / "*"), _MAIN, str(config)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Wait until it serves clients.

        :raises ZooKeeperDidNotStart: it ended, or did not serve in time.
        """
        deadline_s = time.monotonic() + START_S
        while self.mode() is None:
            status = None if self._process is None else self._process.poll()
            if status is not None or time.monotonic() > deadline_s:
                self.kill()
                what = "it took too long" if status is None else f"it ended with status {status}"
                raise ZooKeeperDidNotStart(f"{what}; see {self.folder / 'zookeeper.log'}")
            time.sleep(POLL_S)

    def is_running(self) -> bool:
        """Return True if there is a process."""
        return self._process is not None and self._process.poll() is None

    def mode(self) -> str | None:
        """Return "standalone", "leader" or "follower"; None if it serves no clients."""
        for line in self.ask("srvr").splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return None

    def ask(self, command: str) -> str:
        """Return the answer to a four-letter command; empty if there is none within a second."""
        answer = b""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
            connection.sendall(command.encode())
            while part := connection.recv(4096):
                answer += part
        return answer.decode(errors="replace")

    def freeze(self) -> None:
        """Stop the process, which keeps its connections."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue the process."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the process, and wait for its end."""
        self._signal(signal.SIGTERM)
        if self._process is not None:
            self._process.wait()

    def kill(self) -> None:
        """Kill the process, and wait for its end."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def join(self) -> int:
        """Wait for the end of the process; return its status."""
        return 0 if self._process is None else self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running():
            self._process.send_signal(number)


def jars() -> Path:
    """Return the folder of pyspark's jars.

    :raises ZooKeeperDidNotStart: pyspark is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ZooKeeperDidNotStart("pyspark is not installed; pip install 'kafkatx[spark]'")
    return Path(found.origin).parent / "jars"


def main(arguments: Sequence[str] | None = None, out: IO[str] = sys.stdout, err: IO[str] = sys.stderr) -> int:
    """Run a server until Ctrl-C or SIGTERM; return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m kafkatx.testing.zookeeper", description="Start a ZooKeeper server for trials."
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"port on 127.0.0.1 (default: {PORT})")
    parser.add_argument("--data", default=FOLDER, help=f"folder of its data (default: {FOLDER})")
    options = parser.parse_args(arguments)
    server = ZooKeeperServer(Path(options.data), options.port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", options.port))
        server.start()
        server.wait()
        version = server.ask("srvr").partition(": ")[2].partition("-")[0]
        out.write(
            f"ZooKeeper {version} listens on 127.0.0.1:{options.port}; data and log are in {server.folder}\n"
            f"try: kafkatx up --zookeeper 127.0.0.1:{options.port}/kafka\n"
            "Ctrl-C stops it.\n"
        )
        out.flush()
        return server.join()
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        err.write(f"zookeeper: port {options.port}: {error.strerror}; choose another with --port\n")
    except ZooKeeperDidNotStart as error:
        err.write(f"zookeeper: {error}\n")
    finally:
        server.stop()
    return 1


if __name__ == "__main__":
    sys.exit(main())
