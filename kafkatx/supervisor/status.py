"""Messages between the supervisor and its brokers: lines of JSON in pipes. Pure.

The supervisor writes an :class:`Order` to a broker's standard input, and keeps it open: its end tells the
broker that the supervisor is gone. The broker writes one :class:`Report` to file descriptor 3.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import attrs

MAX_LINE_BYTES = 1 << 20


@attrs.frozen
class Order:
    """The settings and the log of a broker's process.

    :ivar name: names the broker in the log.
    :ivar config: absolute path of the settings file, if there is one.
    :ivar overrides: settings that go before the file.
    :ivar log_file: absolute path of the file that standard error is, if it is one.
    :ivar note: True if the process writes a note about itself to its log dirs.
    """

    name: str
    config: str | None
    overrides: Sequence[tuple[str, str]]
    log_level: str
    log_format: str
    log_file: str | None
    note: bool

    def line(self) -> bytes:
        """Return it as a line."""
        return json.dumps(attrs.asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Order:
        """Read a line.

        :raises ValueError: it is no order.
        """
        try:
            fields = json.loads(line)
            fields["overrides"] = [(name, value) for name, value in fields["overrides"]]
            return cls(**fields)
        except (TypeError, KeyError) as error:
            raise ValueError(f"no order of a supervisor: {error}") from None


@attrs.frozen
class Report:
    """The outcome of a broker's start.

    :ivar failure: why it could not start, for a person; None if it is ready.
    :ivar address: ``host:port`` that it advertises; empty if it failed.
    :ivar http: URL of its HTTP listener; None if it has none.
    """

    failure: str | None
    address: str = ""
    http: str | None = None

    def line(self) -> bytes:
        """Return it as a line."""
        return json.dumps(attrs.asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Report:
        """Read a line.

        :raises ValueError: it is no report.
        """
        try:
            return cls(**json.loads(line))
        except TypeError as error:
            raise ValueError(f"no report of a broker: {error}") from None
