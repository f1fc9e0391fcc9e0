"""The samples of a running broker, for all that ask: its own console, and those of other brokers. Pure."""

from __future__ import annotations

from math import inf

from kafkatx.broker.history.history import History


class Samples:
    """The samples.

    :ivar history: those of the past; a recorder fills it, if there is one.
    :ivar looked_s: the time of the last look at them, by the broker's clock.
    """

    def __init__(self) -> None:
        self.history = History()
        self.looked_s = -inf

    def look(self, now_s: float) -> None:
        """Take note that a page shows the samples: there is one each second for the next minute."""
        self.looked_s = now_s
