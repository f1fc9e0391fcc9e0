"""The cost of consumer groups: heartbeats of many, one large rebalance, commits.

    python -m benchmarks.groups [GROUPS] [MEMBERS] [SECONDS]

1,000 groups of 3 members send a heartbeat every 3 s, each member on its own connection: the broker's CPU.
Then 100 members of one group, with a heartbeat every 0.5 s, see one more join: how long until all have their
assignments again. Then connections commit offsets, 100 requests under way on each: commits a second.

The members are sans-I/O connections under asyncio, not consumers: 3,000 of these would measure themselves.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from kafkatx.errors import ErrorCode
from kafkatx.wire.api import APIS
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.frames import frame
from kafkatx.wire.headers import encode_request_header
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkatx.wire.schema import Message

JOIN, HEARTBEAT, SYNC, COMMIT, CREATE = 5, 3, 3, 7, 4
"""The versions in which things are asked: the last before the flexible ones, as most clients do."""

SESSION_MS, REBALANCE_MS = 30_000, 60_000
HEARTBEAT_S, QUICK_HEARTBEAT_S = 3.0, 0.5
LARGE = 100
WINDOW, COMMITTERS = 100, 2
SETTINGS = ["group.initial.rebalance.delay.ms=500"]


class Connection:
    """One request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, version: int, request: Message) -> Any:
        """Give the response."""
        self.writer.write(framed(version, request))
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        body = memoryview(await self.reader.readexactly(size))
        return decode(APIS[request.API_KEY].response, version, body[4:])


def framed(version: int, request: Message) -> bytes:
    """A request as it is sent."""
    header = encode_request_header(request.API_KEY, version, 1, "benchmark")
    return b"".join(map(bytes, frame([header, encode(request, version)])))  # type: ignore[arg-type]  # no file slices


class Member:
    """A member of a group; the leader assigns nothing."""

    def __init__(self, connection: Connection, group_id: str) -> None:
        self._connection = connection
        self._group_id = group_id
        self._member_id = ""
        self.generation = -1
        self.settled_s = 0.0

    async def join(self) -> None:
        """Join and sync, until the group is settled."""
        while True:
            joined: JoinGroupResponse = await self._connection.ask(
                JOIN,
                JoinGroupRequest(
                    self._group_id,
                    SESSION_MS,
                    REBALANCE_MS,
                    self._member_id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\0\0\0\0")],
                ),
            )
            self._member_id = joined.member_id
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                continue
            check(joined.error_code)
            shares = [SyncGroupRequestAssignment(one.member_id, b"share") for one in joined.members]
            synced = await self._connection.ask(
                SYNC,
                SyncGroupRequest(self._group_id, joined.generation_id, self._member_id, assignments=shares),
            )
            if synced.error_code != ErrorCode.REBALANCE_IN_PROGRESS:
                check(synced.error_code)
                self.generation, self.settled_s = joined.generation_id, time.perf_counter()
                return

    async def stay(self, interval_s: float, first_s: float = 0.0) -> None:
        """Send heartbeats, from *first_s* seconds on, and join again when told so, for good."""
        await asyncio.sleep(first_s)
        while True:
            await asyncio.sleep(interval_s)
            beat = HeartbeatRequest(self._group_id, self.generation, self._member_id)
            error = (await self._connection.ask(HEARTBEAT, beat)).error_code
            if error == ErrorCode.REBALANCE_IN_PROGRESS:
                await self.join()
            else:
                check(error)


def check(error: int) -> None:
    """Nothing may fail.

    :raises RuntimeError: something did.
    """
    if error:
        raise RuntimeError(ErrorCode.of(error).name)


async def beating(port: int, groups: int, members: int, seconds: float, tell: Callable[[str], None]) -> None:
    """Wait until groups have settled, say so, and keep them alive."""
    all_members = [
        Member(await Connection.open(port), f"group-{n}") for n in range(groups) for _ in range(members)
    ]
    for first in range(0, len(all_members), 300):  # a hundred groups at a time
        await asyncio.gather(*(member.join() for member in all_members[first : first + 300]))
    staying = []
    for member in all_members:
        staying.append(asyncio.create_task(member.stay(HEARTBEAT_S)))
        await asyncio.sleep(HEARTBEAT_S / len(all_members))
    tell("settled")
    done, _ = await asyncio.wait(staying, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for failed in done:
        failed.result()
    tell("done")


async def rebalance(port: int, group_id: str, tell: Callable[[str], None]) -> None:
    """Add a member to a large group; return the seconds until all have settled."""
    members = [Member(await Connection.open(port), group_id) for _ in range(LARGE)]
    await asyncio.gather(*(member.join() for member in members))
    staying = [
        asyncio.create_task(member.stay(QUICK_HEARTBEAT_S, number * QUICK_HEARTBEAT_S / LARGE))
        for number, member in enumerate(members)
    ]
    await asyncio.sleep(2)
    late = Member(await Connection.open(port), group_id)
    started_s = time.perf_counter()
    await late.join()
    while any(member.generation != late.generation for member in members):
        await asyncio.sleep(0.001)
        for task in staying:
            if task.done():
                task.result()
    settled_s = max(member.settled_s for member in (*members, late))
    tell(json.dumps(settled_s - started_s))


async def commit(
    port: int, number: int, seconds: float, partitions: int, tell: Callable[[str], None]
) -> None:
    """Commit offsets of a group of its own as fast as it goes; tell how many requests a second."""
    connection = await Connection.open(port)
    offsets = [OffsetCommitRequestPartition(n, 12345, -1, committed_metadata="") for n in range(partitions)]
    request = OffsetCommitRequest(
        f"committer-{number}", -1, "", topics=[OffsetCommitRequestTopic("committed", offsets)]
    )
    response = await connection.ask(COMMIT, request)
    for result in response.topics[0].partitions:
        check(result.error_code)
    one = framed(COMMIT, request)
    connection.writer.write(one)
    size = 4 + int.from_bytes(await connection.reader.readexactly(4), "big")
    await connection.reader.readexactly(size - 4)
    started_s, replied, left = time.perf_counter(), 0, b""
    connection.writer.write(one * WINDOW)
    while (now_s := time.perf_counter()) - started_s < seconds:
        left += await connection.reader.read(1 << 16)
        count = len(left) // size
        left = left[count * size :]
        replied += count
        connection.writer.write(one * count)
    tell(json.dumps(replied / (now_s - started_s)))


class Process:
    """A coroutine in a process of its own, that tells lines."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        self._lines, child = multiprocessing.Pipe(False)
        self._process = multiprocessing.Process(target=_run, args=(child, work, arguments))
        self._process.start()
        child.close()

    def next(self) -> str:
        """Wait for the next line.

        :raises EOFError: the process has failed.
        """
        line: str = self._lines.recv()
        return line

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.join()


def _run(lines: Any, work: Callable[..., Coroutine[Any, Any, None]], arguments: tuple[object, ...]) -> None:
    asyncio.run(work(*arguments, lines.send))


def create(port: int, topic: str, partitions: int) -> None:
    """Create a topic."""

    async def ask() -> None:
        connection = await Connection.open(port)
        request = CreateTopicsRequest([CreatableTopic(topic, partitions, 1)])
        check((await connection.ask(CREATE, request)).topics[0].error_code)

    asyncio.run(ask())


def committing(broker: Measured, port: int, seconds: float, partitions: int) -> None:
    """Measure commits of so many partitions a request, and print."""
    cpu_s = broker.cpu_s()
    committers = [Process(commit, port, n, seconds, partitions) for n in range(COMMITTERS)]
    rates = [float(json.loads(one.next())) for one in committers]
    busy = (broker.cpu_s() - cpu_s) / seconds
    for one in committers:
        one.stop()
    print(
        f"commits of {partitions} partition{'s' * (partitions > 1)}: {sum(rates):.0f} requests/s,"
        f" {sum(rates) * partitions:.0f} offsets/s; broker {busy:.0%} of a core",
        flush=True,
    )


def main(groups: int, members: int, seconds: float) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as data_dir:
        port = free_port()
        with Measured(kafkatx_command(data_dir, port, SETTINGS), port) as broker:
            broker.wait_until_listening()
            create(port, "committed", 10)
            rss_mib = broker.rss_mib()
            beats = Process(beating, port, groups, members, seconds)
            beats.next()
            cpu_s = broker.cpu_s()
            beats.next()
            busy = (broker.cpu_s() - cpu_s) / seconds
            a_second = groups * members / HEARTBEAT_S
            print(
                f"{groups} groups of {members}: {a_second:.0f} heartbeats/s cost {busy:.1%} of a core,"
                f" {busy / a_second * 1e6:.0f} us each; memory {rss_mib:.0f} MiB before,"
                f" {broker.rss_mib():.0f} MiB with them",
                flush=True,
            )
            beats.stop()
            took_s = []
            for number in range(3):
                large = Process(rebalance, port, f"large-{number}")
                took_s.append(float(json.loads(large.next())))
                large.stop()
            print(
                f"one more joins {LARGE} members, heartbeats every {QUICK_HEARTBEAT_S} s: all settled after"
                f" {statistics.median(took_s):.2f} s ({min(took_s):.2f}-{max(took_s):.2f})",
                flush=True,
            )
            committing(broker, port, seconds, 1)
            committing(broker, port, seconds, 10)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 3,
        float(sys.argv[3]) if len(sys.argv) > 3 else 20.0,
    )
