"""kcat, Debian's; it has no function that gives it tokens."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from tests.clients.security.librdkafka import settings_of
from tests.clients.security.program import WAIT_S, Pace, Program, main


class Kcat(Program):
    """kcat, a process for each thing that it does."""

    def version(self) -> str:
        """kcat's own and its librdkafka's."""
        printed = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"Version (\S+) .*librdkafka (\S+)", printed)
        return f"{found[1]}, librdkafka {found[2]}" if found else printed

    def command(self, *arguments: str) -> list[str]:
        """Return a command line with the settings."""
        options = [
            part for name, value in settings_of(self.given).items() for part in ("-X", f"{name}={value}")
        ]
        return ["kcat", "-b", self.given.bootstrap, *options, *arguments]

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run kcat; return its output."""
        done = subprocess.run(self.command(*arguments), input=stdin, capture_output=True, timeout=WAIT_S)
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """``kcat -P``."""
        self.run("-P", "-t", topic, stdin=b"".join(value + b"\n" for value in values))

    def read(self, topic: str, count: int) -> list[bytes]:
        """``kcat -C``."""
        return self.run("-C", "-q", "-t", topic, "-o", "beginning", "-e").splitlines()

    def produce_steadily(self, topic: str, pace: Pace) -> None:
        """``kcat -P`` of lines as they come; it ends with an error if one is not acknowledged."""
        command = self.command("-P", "-t", topic, "-X", "linger.ms=5")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stderr is not None
            count = 0
            for value in pace.values():
                process.stdin.write(value + b"\n")
                process.stdin.flush()
                count += 1
            process.stdin.close()
            told = process.stderr.read().decode()
        if process.returncode:
            pace.failed(AssertionError(told))
        else:
            pace.acknowledged = count


if __name__ == "__main__":
    main(Kcat)
