"""The turns of all checks of passwords of a broker, at listeners with SASL and over HTTP."""

from __future__ import annotations

from kafkatx.net.fair_turns import FairTurns

MOST_OF_ADDRESS = 16
"""Checks of one address that wait; further ones are refused at once."""

MOST_WAITING = 256
"""Checks that wait in all; beyond that the address with most gives way."""


def password_turns() -> FairTurns:
    """Return the turns of all checks of a broker: they share a thread."""
    return FairTurns(1, MOST_OF_ADDRESS, MOST_WAITING)
