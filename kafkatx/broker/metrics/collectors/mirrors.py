"""The collector of links to other clusters. Pure."""

from __future__ import annotations

from collections import Counter

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.samples import Samples, label, labels
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import own as o


class MirrorCollector:
    """The links of a broker, and the mirrored partitions that it leads."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        states: Counter[tuple[str, str]] = Counter()
        lag: Counter[str] = Counter()
        copied: Counter[str] = Counter()
        late_ms: dict[str, int] = {}
        for number, status in enumerate(self._broker.mirrors.status()):
            states[status.link, status.state] += 1
            lag[status.link] += max(0, status.lag)
            copied[status.link] += status.bytes_copied
            late_ms[status.link] = max(late_ms.get(status.link, 0), status.lag_ms)
            if number % 100 == 0:
                yield None
        for link in self._broker.mirrors.links():
            samples.add(o.LINK_UP, int(not link.error), label("link", link.name))
        for (name, state), count in sorted(states.items()):
            samples.add(o.MIRROR_PARTITIONS, count, labels(link=name, state=state))
        for name, records in sorted(lag.items()):
            named = label("link", name)
            samples.add(o.MIRROR_LAG, records, named)
            samples.add(o.MIRROR_LAG_SECONDS, late_ms[name] / 1000, named)
            samples.add(o.MIRROR_BYTES, copied[name], named)
