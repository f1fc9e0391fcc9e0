"""A shop, to look at: three brokers, topics of all kinds, a group that lags, schemas, live traffic."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from types import TracebackType
from typing import Any

import requests
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkatx.testing import EmbeddedCluster
from tests.browser.case import CONSOLE

TOPICS = {
    "orders": (6, {"retention.ms": "604800000"}),
    "payments": (6, {}),
    "page-views": (12, {"retention.ms": "86400000"}),
    "customers": (3, {"cleanup.policy": "compact"}),
    "inventory": (3, {"cleanup.policy": "compact"}),
    "shipments": (3, {}),
    "emails.outgoing": (1, {}),
}
RATES = {"orders": 40, "payments": 25, "page-views": 160, "shipments": 12}
"""Records per second, on average."""

FIRST_RECORDS = 50
"""Records of each topic at the start: more of them would be the highest point of all charts."""

CITIES = ("Oslo", "Lisbon", "Kraków", "Lyon", "Utrecht", "Turku")
ORDER_V1 = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "total", "type": "double"},
    ],
}
ORDER_V2 = {
    **ORDER_V1,
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string", "doc": "Key of the topic customers"},
        {"name": "total", "type": "double"},
        {"name": "currency", "type": "string", "default": "EUR"},
        {"name": "coupon", "type": ["null", "string"], "default": None},
    ],
}


def record(topic: str, number: int) -> tuple[str, dict[str, Any]]:
    """Return the key and the value of a record."""
    customer = f"c-{random.randrange(2000):04}"
    city = random.choice(CITIES)
    if topic == "page-views":
        page = random.choice(("/", "/cart", "/offers", "/item/482", "/item/77"))
        return customer, {"page": page, "ms": random.randrange(20, 900), "city": city}
    status = random.choices(("paid", "open", "failed"), (8, 3, 1))[0]
    total = round(random.lognormvariate(3.4, 0.8), 2)
    items = [{"sku": f"A-{random.randrange(90)}", "count": random.randrange(1, 4)}]
    return customer, {
        "id": 9007199254740000 + number,
        "status": status,
        "total": total,
        "city": city,
        "items": items,
    }


class Shop:
    """The cluster with its traffic, while it is entered."""

    def __init__(self, brokers: int = 3) -> None:
        self.cluster = EmbeddedCluster(brokers, CONSOLE, run_in="process")
        self.copies = min(3, brokers)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    @property
    def http(self) -> str:
        """The address of the first broker's listener."""
        return self.cluster.brokers[1].http

    def __enter__(self) -> Shop:
        """Start the brokers, and the traffic."""
        self.cluster.start()
        bootstrap = self.cluster.bootstrap
        topics = [
            NewTopic(name, count, self.copies, config=configs) for name, (count, configs) in TOPICS.items()
        ]
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for created in admin.create_topics(topics).values():
            created.result()
        for schema in (ORDER_V1, ORDER_V2):
            url = f"{self.http}/subjects/orders-value/versions"
            requests.post(url, json={"schema": json.dumps(schema)}, timeout=20).raise_for_status()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "client.id": "shop"})
        for topic in TOPICS:
            for number in range(FIRST_RECORDS):
                self._produce(topic, number)
        self._producer.flush(30)
        self._consumers = [
            self._consumer("billing", ["orders", "payments"]),
            self._consumer("analytics", ["page-views"]),
        ]
        lazy = Consumer({"bootstrap.servers": bootstrap, "group.id": "reports"})
        lazy.commit(offsets=[TopicPartition("orders", at, 2) for at in range(6)], asynchronous=False)
        lazy.close()
        self._thread.start()
        return self

    def _consumer(self, group: str, topics: list[str]) -> Consumer:
        settings = {
            "bootstrap.servers": self.cluster.bootstrap,
            "group.id": group,
            "client.id": f"{group}-1",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
        }
        consumer = Consumer(settings)
        consumer.subscribe(topics)
        return consumer

    def _produce(self, topic: str, number: int) -> None:
        key, value = record(topic, number)
        headers = [("trace-id", f"{random.getrandbits(32):08x}")]
        self._producer.produce(topic, json.dumps(value).encode(), key.encode(), headers=headers)

    def _write(self) -> None:
        number = 1000
        while not self._stop.wait(0.1):
            wave = 1 + 0.5 * math.sin(time.monotonic() / 9) + random.uniform(-0.15, 0.15)
            for topic, rate in RATES.items():
                for _ in range(round(rate * wave / 10)):
                    number += 1
                    self._produce(topic, number)
            self._producer.poll(0)
            for consumer in self._consumers:
                for _ in range(12):
                    if consumer.poll(0) is None:
                        break

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the traffic and the brokers."""
        self._stop.set()
        self._thread.join()
        self._producer.flush(10)
        for consumer in self._consumers:
            consumer.close()
        self.cluster.close()
