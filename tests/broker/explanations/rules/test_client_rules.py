"""Rules about clients: quotas, and pushed metrics, each at its threshold and below it."""

from __future__ import annotations

import attrs

from kafkatx.broker.explanations.facts import ClientFacts, Facts, QuotaFacts, Severity
from kafkatx.broker.explanations.rules import client_rules as r
from tests.broker.explanations.situations import BROKER, GROUP, RuleTestCase, behind

NOTE, HINT, PROBLEM = Severity
QUOTA = QuotaFacts("produce", "app", "", 1000.0, 2500.0, 1500)


def pushing(**pushed: float) -> Facts:
    """Return the facts about a client that pushes; ``__`` in names stands for ``.``."""
    named = {name.replace("__", "."): value for name, value in pushed.items()}
    return Facts(BROKER, None, (ClientFacts("app", (), 1, named),))


class ClientRuleTests(RuleTestCase):
    def test_quota(self) -> None:
        """A quota that is exceeded is told with its numbers and its name."""
        facts = Facts(BROKER, None, (ClientFacts("app", (QUOTA,)),))
        self.says(r.quota, facts, PROBLEM, "2,500 of 1,000 bytes a second", "1.5 s", "producer_byte_rate")
        within = attrs.evolve(QUOTA, throttle_ms=0)
        self.silent(r.quota, Facts(BROKER, None, (ClientFacts("app", (within,)),)))

    def test_throttled(self) -> None:
        """A client that says it was held back is believed."""
        self.says(r.throttled, pushing(producer__produce__throttle__time__avg=2.5), PROBLEM, "2.5 ms")
        self.silent(r.throttled, pushing(producer__produce__throttle__time__avg=0))

    def test_slow_requests(self) -> None:
        """Requests of 100 ms are slow."""
        self.says(r.slow_requests, pushing(producer__node__request__latency__avg=100), HINT, "100 ms")
        self.silent(r.slow_requests, pushing(producer__node__request__latency__avg=99))

    def test_queue(self) -> None:
        """Records that wait for half a second wait long."""
        self.says(r.queue, pushing(producer__record__queue__time__avg=500), HINT, "500 ms")
        self.silent(r.queue, pushing(producer__record__queue__time__avg=499))

    def test_small_batches(self) -> None:
        """Many small batches are a hint; the size alone is none."""
        small = {"producer__batch__size__avg": 2047.0, "producer__request__rate": 50.0}
        self.says(r.small_pushed_batches, pushing(**small), HINT, "50 requests a second", "2,047 bytes")
        self.silent(
            r.small_pushed_batches,
            pushing(**{**small, "producer__request__rate": 49.0}),
            pushing(**{**small, "producer__batch__size__avg": 2048.0}),
            pushing(producer__batch__size__avg=1),
        )

    def test_busy_consumer(self) -> None:
        """A consumer that hardly waits is busy, if its group is behind."""
        busy = pushing(consumer__poll__idle__ratio__avg=0.05)
        self.says(r.busy_consumer, busy, PROBLEM, "95%")
        late = attrs.evolve(busy, group=attrs.evolve(GROUP, partitions=(behind(1),)))
        self.says(r.busy_consumer, late, PROBLEM)
        self.silent(
            r.busy_consumer, attrs.evolve(busy, group=GROUP), pushing(consumer__poll__idle__ratio__avg=0.1)
        )

    def test_nothing_pushed(self) -> None:
        """Clients that push nothing are told of."""
        silent = ClientFacts("app")
        self.says(r.nothing_pushed, Facts(BROKER, None, (silent,)), NOTE, "Client app does not push")
        every = (silent, ClientFacts("b", instances=1), ClientFacts("c"))
        self.says(r.nothing_pushed, Facts(BROKER, None, every), NOTE, "2 clients of 3")
        self.silent(r.nothing_pushed)
