"""Requests made beforehand, by a client that costs next to nothing: the second measure of (a) to (e)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from benchmarks.compare.experiments.place import Metrics, Place, measured
from benchmarks.compare.loads import load, replay
from kafkatx.blocking import Cluster

SENT_BYTES, SENT_REQUESTS, SENT_S = 1_500_000_000, 200_000, 3
"""How much is sent at most, and for how long."""

METRICS = ("replayed_mb_per_s", "replayed_broker_cpu_s_per_gb", "replayed_client_busy_percent")
ACKS = {"0": 0, "1": 1, "all": -1}
LATEST = -1
_KEPT = {
    "throughput_mb_per_s": "replayed_mb_per_s",
    "records_per_s": "replayed_records_per_s",
    "broker_cpu_s_per_gb": "replayed_broker_cpu_s_per_gb",
    "client_busy_percent": "replayed_client_busy_percent",
    "peak_rss_mib": "replayed_peak_rss_mib",
}


def wanted(place: Place) -> bool:
    """Return True if a system speaks Kafka's protocol and keeps what it is sent."""
    return place.system.kafka and place.system.keeps


def produced(place: Place, size: int, properties: Mapping[str, object]) -> Metrics:
    """Produce what librdkafka would with such properties, made beforehand.

    :param properties: librdkafka's, *acks* among them.
    :raises RuntimeError: not all of it is in the topic.
    """
    acks = ACKS[str(properties["acks"])]
    batch = replay.recorded(size, tuple(sorted({**properties, "acks": 1}.items())))
    topic = place.topic()
    request = replay.produce_request(topic, acks, batch.data)
    count = place.count(min(SENT_REQUESTS, SENT_BYTES // len(request)))
    command = replay.produce_command(
        place.port, _kept(place, request), topic, acks, batch, size, count, SENT_S
    )
    done, metrics = _measured(place, command)
    if place.system.only_topic is None:  # else all that came before is in it, too
        with Cluster(f"127.0.0.1:{place.port}") as cluster:
            stored, _ = cluster.offsets(topic, {0: LATEST})[0]
        if stored != done["messages"]:
            raise RuntimeError(f"{done['messages']:.0f} messages were sent, {stored} are in the topic")
    return metrics


def fetched(place: Place, topic: str, size: int, count: int, most_bytes: int) -> Metrics:
    """Fetch so many messages of a topic from its beginning, one request after the other."""
    request, offset_at = replay.fetch_request(topic, most_bytes)
    path = _kept(place, request)
    return _measured(place, replay.fetch_command(place.port, path, offset_at, topic, size, count))[1]


def _kept(place: Place, request: bytes) -> str:
    path = os.path.join(place.folder, "request")
    with open(path, "wb") as file:
        file.write(request)
    return path


def _measured(place: Place, command: list[str]) -> tuple[Mapping[str, float], Metrics]:
    os.sync()
    place.server.forget_peak()
    before = place.server.cpu()
    done = load.end(load.begin(place.client_core, command))
    found = measured(place, done, place.server.cpu().since(before), None)
    return done, {name: found[metric] for metric, name in _KEPT.items()}
