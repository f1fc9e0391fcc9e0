"""Members of consumer groups in processes of their own, as a test sees them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from itertools import chain
from typing import Any

from tests.integration.clients import DEADLINE_S

LOOK_EVERY_S = 0.02
TOLD = 4000
"""How much of what a member that failed has told is shown."""


class MemberProcess:
    """A process that says what happens to it, a line of JSON at a time, and leaves its group at SIGTERM."""

    def __init__(self, command: list[str]) -> None:
        self._told = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  # it outlives this
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._told, text=True)
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def said(self, said: Any) -> None:
        """Take over a line; in a thread."""
        raise NotImplementedError

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):  # else it was killed meanwhile
                self.said(json.loads(line))

    def leave(self) -> None:
        """Make it leave the group and end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it without LeaveGroup."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Freeze it; its connections stay."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue it."""
        self._process.send_signal(signal.SIGCONT)

    def _end(self, number: int) -> None:
        """End it, if it has not been ended.

        :raises AssertionError: it had ended by itself.
        """
        if self._ended:
            return
        self._ended = True
        failed = self._process.poll() is not None
        if not failed:
            self._process.send_signal(number)
            self.thaw()
        self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        with self._told:
            self._told.seek(0)
            if failed:
                raise AssertionError(f"a member ended by itself:\n{self._told.read()[-TOLD:]}")


class Member(MemberProcess):
    """One process of ``tests.integration.member``.

    :ivar owned: the partitions that it has, as it says.
    :ivar rebalances: how often it has said so.
    :ivar records: the (partition, offset, value) that it was given.
    """

    def __init__(
        self,
        client: str,
        bootstrap: str,
        group: str,
        topic: str,
        session_ms: int = 1000,
        instance_id: str = "",
        **settings: str,
    ) -> None:
        self.owned: set[int] = set()
        self.rebalances = 0
        self.records: list[tuple[int, int, str]] = []
        command = [sys.executable, "-m", "tests.integration.member", client, bootstrap, group, topic]
        command += ["--session-ms", str(session_ms), "--instance-id", instance_id]
        for name, value in settings.items():
            command += ["--set", f"{name.replace('_', '.') if client == 'confluent-kafka' else name}={value}"]
        super().__init__(command)

    def said(self, said: Any) -> None:
        """Take over a line."""
        if "owned" in said:
            self.owned = set(said["owned"])
            self.rebalances += 1
        else:
            partition, offset, value = said["record"]
            self.records.append((partition, offset, value))


def share(members: Iterable[Member], partitions: int) -> bool:
    """Return True if each partition has one owner, and the shares differ by one at most.

    In the midst of an incremental rebalance all of them may have an owner, too, and some be about to move.
    """
    owned = [member.owned for member in members]
    counts = [len(numbers) for numbers in owned]
    return sorted(chain(*owned)) == list(range(partitions)) and 0 < min(counts) >= max(counts) - 1
