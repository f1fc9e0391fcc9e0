"""An honest client beside an attack, in a process of its own: how long the slowest of its requests took.

``python -m tests.attack.bystander HOST:PORT`` asks for metadata, produces a record and fetches it, in turn,
until its standard input ends; then it prints how many requests were answered and the seconds of the slowest.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Any, NamedTuple

from kafkatx.records.builder import build_values
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import Message
from tests.integration.raw import RawClient

TOPIC = "bystander"
PAUSE_S = 0.02
END_S = 60.0


class Seen(NamedTuple):
    """The experience of an honest client.

    :ivar answered: how many of its requests were answered.
    :ivar slowest_s: the longest that one of them took.
    """

    answered: int
    slowest_s: float


def main(bootstrap: str) -> None:
    """Send requests until standard input ends, then print a :class:`Seen`."""
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    with RawClient(bootstrap) as client:
        client.ask(19, 4, CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)]))
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        answered, slowest_s = 0, 0.0
        for offset in itertools.count():
            for key, version, request in _requests(offset):
                started_s = time.perf_counter()
                _check(client.ask(key, version, request))
                slowest_s = max(slowest_s, time.perf_counter() - started_s)
                answered += 1
            if ended.wait(PAUSE_S):
                break
    sys.stdout.write(f"{answered} {slowest_s}\n")


def _requests(offset: int) -> list[tuple[int, int, Message]]:
    now_ms = int(time.time() * 1000)
    data = PartitionProduceData(0, build_values([b"%d" % offset], now_ms))
    return [
        (3, 9, MetadataRequest([MetadataRequestTopic(name=TOPIC)])),
        (0, 9, ProduceRequest(None, -1, 30_000, [TopicProduceData(TOPIC, [data])])),
        (1, 11, FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[_fetch(offset)])),
    ]


def _fetch(offset: int) -> FetchTopic:
    return FetchTopic(TOPIC, partitions=[FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 16)])


def _check(response: Any) -> None:
    """Fail if an error was answered."""
    for topic in getattr(response, "responses", ()):
        parts: Any = getattr(topic, "partition_responses", None) or getattr(topic, "partitions", ())
        for part in parts:
            if part.error_code:
                raise SystemExit(f"the bystander got error {part.error_code}")


class Bystander:
    """The honest client's process; a context manager. :attr:`seen` is there when it has left."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.seen = Seen(0, 0.0)

    def __enter__(self) -> Bystander:
        command = [sys.executable, "-m", "tests.attack.bystander", self._bootstrap]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "begun\n":
            raise AssertionError("the bystander could not begin")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            output, _ = self._process.communicate("", END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise AssertionError(f"the bystander had no answer for {END_S:.0f} s") from value
        words = output.split()
        if self._process.returncode or len(words) != 2:
            raise AssertionError(f"the bystander failed: {output}") from value
        self.seen = Seen(int(words[0]), float(words[1]))


if __name__ == "__main__":
    main(sys.argv[1])
