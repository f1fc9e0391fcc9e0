"""``make browser``: a console with a million records, and with 40,000 partitions and 2,000 groups."""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.browser.case import BrowserCase
from tests.until import until

RECORDS = 1_000_000
TOPICS, PARTITIONS, GROUPS = 400, 100, 2000
PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
SCAN_S = 600.0
MOST_MS = 1000
"""The longest time to the first paint: twice what it takes on a machine with nothing else to do."""


class LargeTests(BrowserCase):
    def test_million_records(self) -> None:
        """A filter finds the one record of a million; the page answers meanwhile; a scan can be cancelled."""
        broker = self.start({})
        topic = broker.topic("million", partitions=4)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50})
        for number in range(RECORDS):
            value = json.dumps({"id": number, "status": "lost" if number == RECORDS // 2 else "done"})
            while True:
                try:
                    producer.produce(topic, value.encode(), str(number).encode())
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()
        page = self.page_of(broker)
        page.open("topics", topic)
        page.choose("Begin", "Oldest")
        page.fill("Filter", 'value.status == "lost"')
        page.click("Read")
        page.sees("scanned")
        page.click("Cancel")
        page.sees("Stopped")
        began_s = time.monotonic()
        page.click("Read")
        rows = f"Records of {topic}"
        while not page.rows(rows):
            self.assertLess(time.monotonic() - began_s, SCAN_S, page.text)
            if page.has("Read on"):
                page.click("Read on")
            time.sleep(0.1)
        sys.stdout.write(f"\nfound among {RECORDS} records in {time.monotonic() - began_s:.1f} s\n")
        self.assertIn(str(RECORDS // 2), page.rows(rows)[0][-1])

    def test_many_partitions(self) -> None:
        """Lists of many topics, partitions and groups are there as soon as those of few."""
        broker = self.start({})
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        topics = [NewTopic(f"t-{number:03}", PARTITIONS, 1) for number in range(TOPICS)]
        for at in range(0, TOPICS, 20):
            for created in admin.create_topics(topics[at : at + 20], request_timeout=120).values():
                created.result()
        for at in range(0, GROUPS, 100):
            groups = [
                ConsumerGroupTopicPartitions(f"g-{number:04}", [TopicPartition("t-000", 0, 0)])
                for number in range(at, at + 100)
            ]
            altered = [admin.alter_consumer_group_offsets([group]) for group in groups]
            for future in (future for futures in altered for future in futures.values()):
                future.result()
        self.addCleanup(broker.kill)  # its logs are closed in a minute
        page = self.page_of(broker)
        page.open()  # it imports the console now
        page.sees("topics with 40,")
        for place in ((), ("topics",), ("groups",)):
            began_s = time.monotonic()
            page.open(*place)
            until(lambda: page.rows(), "rows")
            took_s = time.monotonic() - began_s
            paint_ms = page.driver.execute_script(PAINT)
            sys.stdout.write(f"\n{place}: first paint after {paint_ms:.0f} ms, rows after {took_s:.2f} s\n")
            self.assertLess(paint_ms, MOST_MS)
