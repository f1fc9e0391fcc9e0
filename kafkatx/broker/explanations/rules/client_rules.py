"""Rules about clients: quotas, and the metrics that they push (KIP-714). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkatx.broker.explanations.facts import ClientFacts, Explanation, Facts, Severity
from kafkatx.broker.explanations.rules.texts import evidence, number, seconds
from kafkatx.names import counted

SLOW_REQUEST_MS = 100.0
"""The mean latency of requests, as a client measures it, from which they are slow."""

LONG_QUEUE_MS = 500.0
"""The mean time of a record in a producer's queue from which it is long."""

SMALL_BATCH_BYTES = 2048.0
"""The mean size of a producer's batches below which they are small, if there are many."""

MANY_REQUESTS = 50.0
"""Requests a second of one producer from which small batches are a burden."""

BUSY_RATIO = 0.1
"""The idle share of a consumer's poll loop below which its own work is what takes the time."""

SETTINGS = {
    "produce": "producer_byte_rate",
    "fetch": "consumer_byte_rate",
    "request time": "request_percentage",
}
UNITS = {"produce": "bytes a second", "fetch": "bytes a second", "request time": "% of the broker's thread"}


def quota(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem for each quota that is exceeded."""
    for client in facts.clients:
        for one in client.quotas:
            if one.throttle_ms:
                yield Explanation(
                    "quota",
                    Severity.PROBLEM,
                    f"Client {one.client_id or one.user} is throttled by its {one.kind} quota: it uses"
                    f" {number(round(one.rate))} of {number(one.limit)} {UNITS[one.kind]}, and its next"
                    f" request is held back for {seconds(one.throttle_ms)}.",
                    f"Raise {SETTINGS[one.kind]}: `kafkatx quotas list`, `kafkatx quotas set`.",
                    evidence(limit=one.limit, rate=one.rate, throttle_ms=one.throttle_ms),
                )


def _first(pushed: Mapping[str, float], *names: str) -> tuple[str, float] | None:
    return next(((name, pushed[name]) for name in names if name in pushed), None)


def slow_requests(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if a producer's requests take long, as it measures them itself."""
    for client in facts.clients:
        found = _first(client.pushed, "producer.node.request.latency.avg", "producer.request.latency.avg")
        if found is not None and found[1] >= SLOW_REQUEST_MS:
            yield Explanation(
                "slow-requests",
                Severity.HINT,
                f"Requests of producer {client.client_id} take {number(round(found[1]))} ms on average.",
                "With acks=all it is the time until all in-sync replicas have them; else look at the network"
                " and the broker.",
                evidence(**{found[0]: found[1]}),
            )


def throttled(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if a client says that it was throttled."""
    for client in facts.clients:
        found = _first(
            client.pushed,
            "producer.produce.throttle.time.avg",
            "consumer.fetch.manager.fetch.throttle.time.avg",
        )
        if found is not None and found[1] > 0:
            yield Explanation(
                "throttled",
                Severity.PROBLEM,
                f"Client {client.client_id} says that brokers have held it back for"
                f" {number(round(found[1], 1))} ms on average.",
                "See `kafkatx quotas list`.",
                evidence(**{found[0]: found[1]}),
            )


def queue(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if records wait long in a producer."""
    for client in facts.clients:
        found = _first(client.pushed, "producer.record.queue.time.avg")
        if found is not None and found[1] >= LONG_QUEUE_MS:
            yield Explanation(
                "long-queue",
                Severity.HINT,
                f"Records wait {number(round(found[1]))} ms on average in the queue of producer"
                f" {client.client_id} before they are sent.",
                "It produces faster than its requests are answered: larger batches, more partitions, or"
                " compression let more through; linger.ms waits on purpose.",
                evidence(**{found[0]: found[1]}),
            )


def small_pushed_batches(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if a producer sends many small batches."""
    for client in facts.clients:
        size = client.pushed.get("producer.batch.size.avg")
        rate = client.pushed.get("producer.request.rate")
        if size is not None and rate is not None and size < SMALL_BATCH_BYTES and rate >= MANY_REQUESTS:
            yield Explanation(
                "small-batches",
                Severity.HINT,
                f"Producer {client.client_id} sends {number(round(rate))} requests a second with batches of"
                f" {number(round(size))} bytes.",
                "Set linger.ms (5 to 50) and a larger batch.size.",
                evidence(**{"producer.batch.size.avg": size, "producer.request.rate": rate}),
            )


def busy_consumer(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if a consumer spends its time between polls."""
    for client in facts.clients:
        idle = client.pushed.get("consumer.poll.idle.ratio.avg")
        if idle is not None and 0 <= idle < BUSY_RATIO and _is_behind(facts, client):
            yield Explanation(
                "busy-consumer",
                Severity.PROBLEM,
                f"Consumer {client.client_id} is busy with its own work for {1 - idle:.0%} of the time: it"
                " waits for records hardly ever.",
                "Make the work per record cheaper, or start more consumers.",
                evidence(**{"consumer.poll.idle.ratio.avg": idle}),
            )


def _is_behind(facts: Facts, client: ClientFacts) -> bool:
    return facts.group is None or facts.group.lag > 0


def nothing_pushed(facts: Facts) -> Iterator[Explanation]:
    """Yield a note if clients push no metrics."""
    silent = [one for one in facts.clients if not one.instances]
    if silent:
        yield Explanation(
            "no-client-metrics",
            Severity.NOTE,
            f"{counted(len(silent), 'client')} of {number(len(facts.clients))} do not push metrics of their"
            " own to this broker, so their side of it is not known."
            if len(facts.clients) > 1
            else f"Client {silent[0].client_id} does not push metrics of its own to this broker, so its side"
            " of it is not known.",
            "`kafkatx client-metrics alter all --metrics '*'` asks for them.",
            evidence(clients=len(silent)),
        )


CLIENT_RULES = (
    quota,
    throttled,
    busy_consumer,
    slow_requests,
    queue,
    small_pushed_batches,
    nothing_pushed,
)
