"""The test case of attacks: a broker, an honest client beside the attack, the broker's memory watched."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.attack.bystander import Bystander
from tests.integration.raw import RawClient, rss_bytes
from tests.measured import DECIDES, check_below

FULL = DECIDES
"""True in ``make attack``: attacks have their full size, and what was measured decides."""

SLOWEST_S = 1.0
GROWTH_BYTES = 200 << 20
SAMPLE_S = 0.05


class AttackCase(SynchronousTestCase):
    """A broker in a process, new for each test, and :meth:`beside` to attack it in.

    :cvar settings: broker settings over the small and private ones.
    """

    settings: ClassVar[Mapping[str, str]] = {}

    def setUp(self) -> None:
        """Start a broker."""
        self.broker = EmbeddedBroker(self.settings, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)

    def connect(self, address: str | None = None) -> RawClient:
        """Return a new connection, to another listener if its address is given; closed at the test's end."""
        client = RawClient(address or self.broker.bootstrap)
        self.addCleanup(client.__exit__)
        return client

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Run the block as an attack beside an honest client, which must be answered throughout.

        In the full form each of its requests is answered within :data:`SLOWEST_S`, and the broker grows by
        less than :data:`GROWTH_BYTES` at any moment. What was seen is printed in both forms.
        """
        pid = self.broker.pid or 0
        before, ended, most = rss_bytes(pid), threading.Event(), [0]

        def sample() -> None:
            while not ended.wait(SAMPLE_S):
                most[0] = max(most[0], rss_bytes(pid) - before)

        sampler = threading.Thread(target=sample, daemon=True)
        with Bystander(self.broker.bootstrap) as bystander:
            sampler.start()
            try:
                yield
            finally:
                ended.set()
                sampler.join()
        seen, growth = bystander.seen, most[0]
        sys.stdout.write(
            f"{self.id()}: {seen.answered} requests of another client answered, the slowest in "
            f"{seen.slowest_s:.3f} s; memory grew by {growth / (1 << 20):.0f} MiB\n"
        )
        check_below(self, seen.slowest_s, SLOWEST_S, "seconds of the slowest request beside the attack")
        check_below(self, growth, GROWTH_BYTES, "growth of the broker, bytes")
