"""A group over ZooKeeper whose members come and go, in processes of their own, and what must hold for it.

Records are produced all the time. In the end each of them must have been read; no committed offset may ever
have gone back; two members must not have read a partition at the same time; and the owners must be those of
Algorithm 1.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafkatx.client.threads import Producer
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.clientcore.legacy.zookeeper.assignment import assigned_streams
from kafkatx.types import TopicPartition
from tests.integration.members import MemberProcess
from tests.until import until

PRODUCED_EVERY_S = 0.05
LOOK_EVERY_S = 0.05
BATCH = 8
"""Records at a time: one of each partition or so."""
SWITCHES = 3
"""How often a partition may change its reader for each member that comes or goes.

Records come every 50 ms: two members that read a partition together would take turns hundreds of times.
"""
READ_S = 60.0


class Read(NamedTuple):
    """A record as a member was given it.

    :ivar at_s: when, by the monotonic clock.
    """

    partition: int
    offset: int
    value: str
    at_s: float


class GroupMember(MemberProcess):
    """A member that tells its records.

    :ivar records: what it was given so far.
    """

    def __init__(self, command: list[str]) -> None:
        self.records: list[Read] = []
        super().__init__(command)

    def said(self, said: Any) -> None:
        """Take over a record."""
        self.records.append(Read(*said["record"]))


def our_member(topic: str, streams: int, filtered: bool, settings: Mapping[str, str]) -> list[str]:
    """Return the command of a member of ours."""
    command = [sys.executable, "-m", "tests.integration.zookeeper_member", topic, "--streams", str(streams)]
    command += ["--filter"] if filtered else []
    return command + [part for item in settings.items() for part in ("--set", "=".join(item))]


class GroupNodes:
    """The nodes of a group, and all offsets that have gone back. A thread looks at them."""

    def __init__(self, connect: str, group: str, topic: str, partitions: int) -> None:
        self.went_back: list[str] = []
        self._topic, self._partitions = topic, partitions
        self._paths = nodes.GroupPaths(group)
        self._kazoo = KazooClient(connect)
        self._kazoo.start()
        self._offsets: dict[int, int] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._ending.set()
        self._thread.join()
        self._kazoo.stop()
        self._kazoo.close()

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self._topic, number) for number in range(self._partitions)]

    def _read(self, path: str) -> bytes | None:
        try:
            data: bytes = self._kazoo.get(path)[0]
        except NoNodeError:
            return None
        return data

    def _look(self) -> None:
        while not self._ending.wait(LOOK_EVERY_S):
            self.offsets()

    def offsets(self) -> dict[int, int]:
        """Return the committed offsets."""
        for at in self._places():
            data = self._read(self._paths.offset(at))
            if data is not None:
                before, now = self._offsets.get(at.partition, 0), int(data)
                if now < before:
                    self.went_back.append(f"{at}: from {before} to {now}")
                self._offsets[at.partition] = now
        return dict(self._offsets)

    def owners(self) -> dict[int, str]:
        """Return member and stream by partition."""
        found = {at.partition: self._read(self._paths.owner(at)) for at in self._places()}
        return {partition: data.decode() for partition, data in found.items() if data is not None}

    def balanced(self, members: int) -> bool:
        """Return True if there are so many members, and the owners are those of Algorithm 1."""
        try:
            names = self._kazoo.get_children(self._paths.ids)
        except NoNodeError:
            return False
        data = {name: self._read(self._paths.member(name)) for name in names}
        asked = {
            name: nodes.decode_subscription(name, each) for name, each in data.items() if each is not None
        }
        expected = {
            at.partition: f"{name}-{stream}"
            for name in asked
            for at, stream in assigned_streams(name, asked, {self._topic: self._partitions}).items()
        }
        return len(asked) == members and self.owners() == expected


class ChurnedGroup:
    """Members that come and go, and a producer.

    :param connect: the ZooKeeper of the brokers.
    :param commands: what starts a member, by its kind: topic, number of streams, True for a filter, settings.
    :param settings: of all members.
    """

    def __init__(
        self,
        connect: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        commands: Mapping[str, Callable[[str, int, bool, Mapping[str, str]], list[str]]],
        settings: Mapping[str, str],
    ) -> None:
        self.members: dict[str, GroupMember] = {}
        self.changes = 0
        self._all: dict[str, GroupMember] = {}
        self._commands, self._topic, self._partitions = commands, topic, partitions
        self.group = "churned"
        self._settings = {
            "zookeeper.connect": connect,
            "group.id": self.group,
            "auto.offset.reset": "smallest",
            "auto.commit.interval.ms": "200",
            **settings,
        }
        self.nodes = GroupNodes(connect, self.group, topic, partitions)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0}, timeout_s=READ_S)
        self._sent: list[str] = []
        self._enough = threading.Event()
        self._producing = threading.Thread(target=self._produce, daemon=True)

    def __enter__(self) -> ChurnedGroup:
        self._producer.__enter__()
        self._producing.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._enough.set()
        self._producing.join()
        for member in self._all.values():
            member.kill()
        self._producer.__exit__(kind, error, traceback)
        self.nodes.close()

    def _produce(self) -> None:
        for number in itertools.count():
            if self._enough.wait(PRODUCED_EVERY_S):
                return
            for turn in range(BATCH):
                value = str(number * BATCH + turn)
                self._producer.send(self._topic, value.encode(), partition=turn % self._partitions)
                self._sent.append(value)

    # -- members

    def join(self, kind: str, streams: int = 1, filtered: bool = False) -> str:
        """Start a member and return its name."""
        self.changes += 1
        name = f"{kind} {self.changes}"
        command = self._commands[kind](self._topic, streams, filtered, self._settings)
        self.members[name] = self._all[name] = GroupMember(command)
        return name

    def leave(self, name: str) -> None:
        """Make a member leave and wait until it has ended."""
        self.changes += 1
        self.members.pop(name).leave()

    def kill(self, name: str) -> None:
        """Kill a member."""
        self.changes += 1
        self.members.pop(name).kill()

    def wait_balanced(self) -> None:
        """Wait until the owners are as the members that are there would have it."""
        names = ", ".join(self.members)
        until(lambda: self.nodes.balanced(len(self.members)), f"a group of {names} is balanced")

    # -- checks

    def read_by(self, name: str) -> int:
        """Return the number of records that a member was given."""
        return len(self._all[name].records)

    def wait_for_records(self, name: str) -> None:
        """Wait until a member is given records."""
        before = self.read_by(name)
        until(lambda: self.read_by(name) > before, f"{name} is given records")

    def finish(self) -> str:
        """Stop producing, wait until all records were read, and check it all.

        :return: what there was, in words.
        :raises AssertionError: something does not hold.
        """
        self._enough.set()
        self._producing.join()
        self._producer.flush()
        wanted = set(self._sent)
        until(lambda: wanted <= {each.value for each in self._reads()}, "every record was read", READ_S)
        self.wait_balanced()
        if self.nodes.went_back:
            raise AssertionError(f"offsets went back: {self.nodes.went_back[:10]}")
        switches = self._switches()
        if max(switches.values()) > SWITCHES * self.changes:
            raise AssertionError(f"partitions had two readers: {switches} switches, {self.changes} changes")
        return (
            f"{len(wanted)} records, all of them read, and {self.read_again()} times one again; "
            f"{self.changes} members came, left or were killed; a partition had another reader "
            f"{max(switches.values())} times at most; no offset went back"
        )

    def read_again(self) -> int:
        """Return how often a record was read that had been read before."""
        return sum(self.read_again_by().values())

    def read_again_by(self) -> dict[str, int]:
        """Return for each member how many of its records had been read before."""
        reads = sorted(
            (read.at_s, name, read) for name, member in self._all.items() for read in member.records
        )
        seen: set[str] = set()
        found = dict.fromkeys(self._all, 0)
        for _, name, read in reads:
            found[name] += read.value in seen
            seen.add(read.value)
        return found

    def _reads(self) -> list[Read]:
        return [read for member in self._all.values() for read in list(member.records)]

    def _switches(self) -> dict[int, int]:
        """Return for each partition how often its reader changed."""
        turns: dict[int, list[tuple[float, str]]] = {number: [] for number in range(self._partitions)}
        for name, member in self._all.items():
            for read in member.records:
                turns[read.partition].append((read.at_s, name))
        return {
            number: sum(one[1] != other[1] for one, other in itertools.pairwise(sorted(found)))
            for number, found in turns.items()
        }


def pause(seconds: float) -> None:
    """Wait while the group works."""
    time.sleep(seconds)
