"""The collector of the broker itself: the cluster as it sees it, its reactor, connections, requests. Pure."""

from __future__ import annotations

from collections import Counter

from kafkatx import __version__
from kafkatx.broker.metrics.samples import Samples, label, labels
from kafkatx.broker.metrics.sources import Sources, Steps
from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o
from kafkatx.errors import ErrorCode
from kafkatx.types import NO_LEADER

STEP = 500


class ServerCollector:
    """The broker."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        self._cluster(samples)
        yield None
        yield from self._offline_partitions(samples)
        self._reactor(samples)
        yield from self._connections(samples)
        self._requests(samples)
        yield None
        self._web(samples)

    def _cluster(self, samples: Samples) -> None:
        broker = self._sources.broker
        state = broker.metadata.state
        named = labels(version=__version__, broker=broker.node_id, cluster=state.cluster_id)
        samples.add(o.INFO, 1, named)
        samples.add(o.FENCED, int(state.fenced))
        samples.add(k.ACTIVE_CONTROLLER, int(state.controller_id == broker.node_id))
        samples.add(k.OFFLINE_LOG_DIRS, sum(one.error is not None for one in broker.store.dirs))
        samples.add(o.COLD_READS, broker.cold_reads)
        samples.add(e.BROKERS, len(state.brokers))
        for broker_id, node in state.brokers.items():
            samples.add(e.BROKER_INFO, 1, labels(id=broker_id, address=f"{node.host}:{node.port}"))

    def _offline_partitions(self, samples: Samples) -> Steps:
        broker, count = self._sources.broker, 0
        state = broker.metadata.state
        if state.controller_id == broker.node_id:
            for number, topic in enumerate(state.topics.values()):
                count += sum(partition.leader == NO_LEADER for partition in topic.partitions)
                if number % STEP == 0:
                    yield None
        samples.add(k.OFFLINE_PARTITIONS, count)

    def _reactor(self, samples: Samples) -> None:
        meter = self._sources.meter
        if meter is None:
            return
        idle = round(meter.idle_share(), 4)
        samples.add(k.NETWORK_IDLE, idle)
        samples.add(k.HANDLER_IDLE, idle)
        samples.add(o.REACTOR_IDLE, round(meter.idle_s, 6))
        samples.add(o.REACTOR_BUSY, round(meter.busy_s, 6))
        samples.add(o.REACTOR_TURNS, meter.turns)
        samples.add(o.REACTOR_SLOW_TURNS, meter.slow_turns)

    def _connections(self, samples: Samples) -> Steps:
        server = self._sources.server
        count, serving = Counter(dict.fromkeys(server.accepted, 0)), 0
        for number, connection in enumerate(list(server.connections)):
            count[connection.peer.session.listener] += 1
            serving += connection.serving
            if number % STEP == 0:
                yield None
        for listener, connections in count.items():
            samples.add(k.CONNECTION_COUNT, connections, label("listener", listener))
        for listener, accepted in server.accepted.items():
            samples.add(k.CONNECTION_CREATION, accepted, label("listener", listener))
        samples.add(o.PENDING_REQUESTS, serving)
        samples.add(o.REQUEST_MEMORY, server.pool.held_bytes)
        samples.add(o.REQUEST_MEMORY_EXHAUSTED, int(server.pool.exhausted))

    def _requests(self, samples: Samples) -> None:
        requests: Counter[tuple[str, int]] = Counter()
        errors: Counter[tuple[str, int]] = Counter()
        for counts in self._sources.broker.request_counts:  # of each listener
            requests[counts.name, counts.version] += counts.requests
            for code, refused in counts.refused.items():
                errors[counts.name, code] += refused
        for (name, version), count in requests.items():
            samples.add(k.REQUESTS, count, labels(request=name, version=version))
        for (name, code), count in errors.items():
            samples.add(k.ERRORS, count, labels(request=name, error=ErrorCode.of(code).name))

    def _web(self, samples: Samples) -> None:
        answers: Counter[int] = Counter()
        for listener in self._sources.web:
            answers.update(listener.site.answers)
        for status, count in sorted(answers.items()):
            samples.add(o.HTTP_REQUESTS, count, label("status", status))
        samples.add(o.HTTP_CONNECTIONS, sum(len(one.channels) for one in self._sources.web))
        if self._sources.tls is not None:
            ends: dict[str, float] = {}
            for name, end_s in self._sources.tls.ends():  # several of HTTP have one name
                ends[name] = min(end_s, ends.get(name, end_s))
            for name, end_s in ends.items():
                samples.add(o.CERTIFICATE_END, round(end_s), label("listener", name))
