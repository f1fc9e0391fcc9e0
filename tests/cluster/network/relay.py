"""A process with TCP proxies that hold back what goes from one place to another: ``python -m`` it.

Commands come as lines of JSON on standard input, and each is answered by a line on standard output::

    {"listen": PLACE or null, "to": PLACE, "port": PORT}   {"port": PORT of the proxy}
    {"block": [[PLACE, PLACE], …]}                         {}
    {"reset": [[PLACE, PLACE], …]}                         {"reset": number of connections closed}

``listen`` is the place that connections come from; null: the broker whose process owns the socket of the
other end, or else ``client``. ``block`` replaces all directions held back before: bytes wait, and so does
the end of a connection, as they do when packets are lost. They go on when the direction is free.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.cluster.network.places import CLIENT, Direction

CHUNK_BYTES = 65536
PROBE_S = 0.05
HOST = "127.0.0.1"
_BROKER = re.compile(rb"broker\.id=(\d+)")


class Relay:
    """All proxies of a cluster, in one event loop."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._blocked: frozenset[Direction] = frozenset()
        self._changed = asyncio.Event()
        self._open: dict[asyncio.Task[None], Direction] = {}
        self._proxies: list[_Proxy] = []

    async def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what a command says; return the answer."""
        if "block" in command:
            self._blocked = frozenset((source, target) for source, target in command["block"])
            self._changed.set()
            self._changed = asyncio.Event()
            return {}
        if "reset" in command:
            pairs = {frozenset(pair) for pair in command["reset"]}
            tasks = [task for task, ends in self._open.items() if frozenset(ends) in pairs]
            for task in tasks:
                task.cancel()
            return {"reset": len(tasks)}

        proxy = _Proxy(self, command["listen"], command["to"], command["port"])
        self._proxies.append(proxy)
        return {"port": await proxy.listen()}

    async def serve(
        self,
        source: str,
        target: str,
        port: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Forward a connection until both ends have closed it, or it is reset.

        :raises ConnectionRefusedError: nothing listens at the port.
        """
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = (source, target)
        writers = [writer]
        try:
            await self._free(source, target)
            there, back = await asyncio.open_connection(HOST, port)
            writers.append(back)
            forward = asyncio.create_task(self._pump(source, target, reader, back))
            backward = asyncio.create_task(self._pump(target, source, there, writer))
            try:
                await asyncio.gather(forward, backward)
            finally:
                forward.cancel()
                backward.cancel()
        except ConnectionRefusedError:
            raise
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            del self._open[task]
            for one in writers:
                with suppress(RuntimeError):  # the loop has ended
                    one.transport.abort()

    async def _pump(
        self, source: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one direction; forward the end of the connection, too, once the direction is free."""
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._free(source, target)
                writer.write(data)
                await writer.drain()
        except OSError:
            await self._free(source, target)
            raise
        await self._free(source, target)
        with suppress(OSError):
            writer.write_eof()

    async def _free(self, source: str, target: str) -> None:
        while (source, target) in self._blocked:
            await self._changed.wait()

    def owner(self, port: int) -> str:
        """Return the broker whose process has the socket of this port; "client" if none has."""
        inode = _inode(port)
        for pid in _children(self._parent):
            with suppress(OSError):
                found = _BROKER.search(Path(f"/proc/{pid}/cmdline").read_bytes())
                if found and inode in _sockets(pid):
                    return found[1].decode()
        return CLIENT


class _Proxy:
    """A listening port in front of a server; it refuses connections while the server does."""

    def __init__(self, relay: Relay, source: str | None, target: str, target_port: int) -> None:
        self._relay, self._source, self._target, self._target_port = relay, source, target, target_port
        self._server: asyncio.Server | None = None
        self._port = 0
        self._probing: asyncio.Task[None] | None = None

    async def listen(self) -> int:
        """Accept connections; return the port, which is the same each time."""
        self._server = await asyncio.start_server(self._accept, HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self._port

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = self._source or self._relay.owner(writer.get_extra_info("peername")[1])
        try:
            await self._relay.serve(source, self._target, self._target_port, reader, writer)
        except ConnectionRefusedError:
            if self._server is not None:
                self._server.close()
                self._server = None
                self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        """Listen again when the server does."""
        while True:
            await asyncio.sleep(PROBE_S)
            with suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, self._target_port)
                writer.transport.abort()
                await self.listen()
                return


def _inode(port: int) -> str:
    """Return the inode of the socket that is bound to a port and connected."""
    local = f"{int.from_bytes(bytes([1, 0, 0, 127]), 'big'):08X}:{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1] == local and words[3] == "01":
            return words[9]
    return "none"


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def _sockets(pid: int) -> set[str]:
    """Return the inodes of a process's sockets."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


async def main() -> None:
    """Obey commands until standard input ends."""
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    relay = Relay(os.getppid())
    while line := await commands.readline():
        answer = await relay.obey(json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
