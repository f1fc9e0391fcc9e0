"""DescribeBroker (key 10103), version 0: version, clock, process and machine of a broker.

It is kafkatx's own, and ApiVersions does not list it: no other client meets a key that it does not know.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field, nullable


class DescribeBrokerRequest(Message, key=10103, versions=(0, 0), flexible=0):
    """Request the facts of the broker that is asked."""


class BrokerFact(Struct):
    """A name, as :mod:`kafkatx.machine.facts` has it, and a value."""

    name: str = field(STRING)
    value: str = field(STRING)


class DescribeBrokerResponse(Message, key=10103, versions=(0, 0), flexible=0):
    """The facts; ``time_ms`` is the broker's wall clock when it answers."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    broker_id: int = field(INT32)
    broker_version: str = field(STRING)
    time_ms: int = field(INT64)
    facts: list[BrokerFact] = field(array(BrokerFact))
