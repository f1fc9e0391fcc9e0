"""Members of a consumer group, each a process of the client under test, and what they say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from tests.clients.features import PARTITIONS

LEAVE_S = 20.0
ALL = frozenset(range(PARTITIONS))


class Member:
    """One process; a thread reads what it prints.

    :ivar owned: its partitions as it last told them; None until it has.
    :ivar read: every (partition, offset) that it has processed.
    :ivar copied: the names of the records that it has written to another topic, as that topic has them.
    """

    def __init__(self, command: Sequence[str], changed: threading.Condition) -> None:
        self.owned: frozenset[int] | None = None
        self.read: list[tuple[int, int]] = []
        self.copied: list[str] = []
        self.version = ""
        self.noise: list[str] = []
        self._changed = changed
        # A session of its own: a scenario may be a wrapper, and what is killed is all of it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._hear(line)
                self._changed.notify_all()

    def _hear(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            self.noise = [*self.noise[-20:], line]
            return
        if "owns" in said:
            self.owned = frozenset(said["owns"])
        self.version = said.get("version", self.version)
        self.copied += said.get("copied", [])
        if "read" in said:
            self.read += [(partition, offset) for partition, offset in said["read"]]

    @property
    def running(self) -> bool:
        """Return True if the process has not ended."""
        return self._process.poll() is None

    def leave(self, limit_s: float = LEAVE_S) -> None:
        """Close its input, and wait until it has left the group and ended.

        :raises AssertionError: it did not, or not well.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait(limit_s)
        self._reader.join(LEAVE_S)
        if status:
            raise AssertionError(f"a member left with status {status}: {''.join(self.noise)}")

    def kill(self) -> None:
        """``kill -9``: it says nothing to the broker any more."""
        if self.running:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(LEAVE_S)
        self._reader.join(LEAVE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


class Members:
    """All members that one group ever had. A context manager: no member outlives it.

    :param leave_s: how long one may take to leave.
    """

    def __init__(self, command: Sequence[str], leave_s: float = LEAVE_S) -> None:
        self._command = command
        self._leave_s = leave_s
        self._changed = threading.Condition()
        self.present: list[Member] = []
        self.gone: list[Member] = []

    def __enter__(self) -> Members:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.present:
            member.kill()

    def join(self, *options: str) -> Member:
        """One more member."""
        self.present.append(Member([*self._command, *options], self._changed))
        return self.present[-1]

    def leave(self, member: Member) -> None:
        """A member leaves as the client does."""
        self._forget(member)
        member.leave(self._leave_s)

    def kill(self, member: Member) -> None:
        """A member dies."""
        self._forget(member)
        member.kill()

    def _forget(self, member: Member) -> None:
        self.present.remove(member)
        self.gone.append(member)

    def settled(self) -> bool:
        """Return True if every member has partitions, and each partition one member."""
        owned = [member.owned or frozenset() for member in self.present]
        return all(owned) and sum(map(len, owned)) == PARTITIONS and frozenset().union(*owned) == ALL

    def have_read(self, ends: dict[int, int]) -> bool:
        """Return True if every record before these end offsets was processed."""
        done = {place for member in [*self.present, *self.gone] for place in member.read}
        return all((partition, offset) in done for partition, end in ends.items() for offset in range(end))

    def wait(self, what: str, so: Callable[[], bool], limit_s: float) -> float:
        """Wait until something is so, looking whenever a member has said something; the seconds that took.

        :raises AssertionError: it was not so in time, or a member has ended.
        """
        began = time.monotonic()
        with self._changed:
            while not so():
                left = began + limit_s - time.monotonic()
                dead = [member for member in self.present if not member.running]
                if left <= 0 or dead:
                    raise AssertionError(f"{what}: {'a member has ended' if dead else 'never'}; {self}")
                self._changed.wait(min(left, 0.5))
        return time.monotonic() - began

    def __str__(self) -> str:
        told = [f"owns {sorted(m.owned or ())}, read {len(m.read)}" for m in self.present]
        noise = [line for member in self.present for line in member.noise][-8:]
        return "; ".join(told) + "".join(f"\n    {line.rstrip()}" for line in noise)
