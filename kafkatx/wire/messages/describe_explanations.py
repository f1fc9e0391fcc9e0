"""DescribeExplanations (key 10102), version 0: sentences of a broker about a group or client that is slow.

It is kafkatx's own, and ApiVersions does not list it: no other client meets a key that it does not know.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable


class DescribeExplanationsRequest(Message, key=10102, versions=(0, 0), flexible=0):
    """Request explanations of either a group or a client id."""

    group_id: str | None = field(nullable(STRING), default=None)
    client_id: str | None = field(nullable(STRING), default=None)


class Evidence(Struct):
    """A name and a value that a rule has looked at."""

    name: str = field(STRING)
    value: str = field(STRING)


class ExplanationEntry(Struct):
    """A sentence; severity 0 is a note, 1 a hint, 2 a problem. The advice may be empty."""

    rule: str = field(STRING)
    severity: int = field(INT8)
    sentence: str = field(STRING)
    advice: str = field(STRING)
    evidence: list[Evidence] = field(array(Evidence))


class DescribeExplanationsResponse(Message, key=10102, versions=(0, 0), flexible=0):
    """The sentences, the heaviest first."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    explanations: list[ExplanationEntry] = field(array(ExplanationEntry))
