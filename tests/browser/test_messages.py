"""The message browser: filters and what is wrong with them, live tails, records in full, and new ones."""

from __future__ import annotations

import json

from tests.browser.case import SharedCase
from tests.until import until


class BrowseTests(SharedCase):
    refusals = (400,)

    def setUp(self) -> None:
        """Write some orders."""
        super().setUp()
        self.topic = self.broker.topic("browse", partitions=2)
        for number in range(40):
            value = json.dumps(
                {"id": number, "status": "failed" if number % 10 == 0 else "done", "big": 2**53 + 1}
            )
            self.broker.produce(self.topic, value, key=f"user-{number}", partition=number % 2)

    def records(self) -> list[list[str]]:
        """Return the rows of records."""
        return self.page.rows(f"Records of {self.topic}")

    def test_browse_and_filter(self) -> None:
        """Records come from the newest or the oldest on, of one partition, and those that fit a filter."""
        page = self.page
        page.open("topics", self.topic)
        until(lambda: len(self.records()) == 40, "all records")
        page.choose("Begin", "Oldest")
        page.choose("Partition", "1")
        until(lambda: len(self.records()) == 20, "those of one partition")
        self.assertEqual(self.records()[0][0].split()[-3:], ["1", ":", "0"])
        page.choose("Partition", "all")
        page.fill("Filter", 'value.status == "failed" and key.startswith("user-")')
        page.click("Read")
        until(lambda: len(self.records()) == 4, "those that fit")
        page.sees("4 match")
        self.assertIn("filter=value.status", page.driver.current_url)

    def test_kept_filter(self) -> None:
        """A filter is kept for its topic, chosen again, and forgotten."""
        page = self.page
        page.open("topics", self.topic)
        page.fill("Filter", "partition == 1 and offset == 3")
        page.click("Save filter")
        page.open("topics", self.topic)
        page.choose("Saved filters", "partition == 1 and offset == 3")
        until(lambda: len(self.records()) == 1, "the record that fits")
        page.click("Forget filter")
        page.sees_not("Saved filters")

    def test_download(self) -> None:
        """The records of a reading are a file of JSON lines, with all of their values."""
        page = self.page
        page.open("topics", self.topic, partition="0", **{"from": "oldest"})
        page.sees("Download")
        lines = page.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "const module = new URL('static/views/messages/download.js', document.baseURI);"
            "const { recordLines } = await import(module);"
            "done(await recordLines({ ...arguments[0], partition: '0', from: 'oldest', count: '5' }));",
            {"topic": self.topic},
        )
        found = [json.loads(line) for line in lines]
        self.assertEqual([record["offset"] for record in found], [str(number) for number in range(5)])
        self.assertIn(str(2**53 + 1), found[0]["value"]["text"])
        page.click("Download")
        page.sees_not("One moment")

    def test_time_zone(self) -> None:
        """Times are the reader's own, or UTC."""
        page = self.page
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
        self.addCleanup(page.driver.execute_cdp_cmd, "Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
        self.broker.produce(self.topic, "late", partition=0, timestamp_ms=1_700_000_000_000)
        page.open("topics", self.topic, partition="0", count="25")
        page.sees("2023-11-15 03:43:20.000")
        page.click("UTC")
        page.sees("2023-11-14 22:13:20.000")
        page.sees("Time (UTC)")
        page.click("UTC")

    def test_wrong_filter(self) -> None:
        """The fault of a filter is told at the filter."""
        page = self.page
        page.open("topics", self.topic)
        page.fill("Filter", "value.status = 3 or")
        page.click("Read")
        invalid = "return document.querySelector('[aria-invalid=true]')?.value"
        until(lambda: page.driver.execute_script(invalid) == "value.status = 3 or", "the filter is marked")
        page.click("How to filter")
        page.click('value.status == "failed"')
        page.click("Read")
        until(lambda: len(self.records()) == 4, "the example works")

    def test_record(self) -> None:
        """A record opens to all there is; numbers of 64 bits keep their digits; it can be sent again."""
        page = self.page
        page.open("topics", self.topic, partition="0", **{"from": "oldest"})
        page.click("Record at partition and offset 0 : 3")
        page.sees("9007199254740993")
        page.sees('"status": "done"')
        page.click("Send again")
        page.sees(f"Send again to {self.topic}")
        page.choose("Partition", "1")
        page.fill("Value", '{"id": "again"}')
        page.click("Send")
        page.sees("Written to partition 1 at offset 20.")
        page.click("Close")
        page.open("topics", self.topic, partition="1")
        until(lambda: self.records() and "again" in self.records()[0][-1], "the new record is the newest")


class TailTests(SharedCase):
    def test_tail(self) -> None:
        """A live tail shows what is written, holds it during a pause, and stops."""
        topic = self.broker.topic("tail")
        page = self.page
        page.open("topics", topic)
        page.sees("No records here")
        page.click("Follow live")
        page.sees("Following")
        shown = lambda: [row[-1] for row in page.rows(f"Records of {topic}")]  # noqa: E731

        def came() -> bool:
            self.broker.produce(topic, "first")  # again and again: the tail may have begun after it
            return "first" in shown()

        until(came, "the first record")
        page.click("Pause")
        before = len(shown())
        self.broker.produce(topic, "held")
        page.sees("new)")
        self.assertEqual(len(shown()), before)
        page.driver.execute_script(
            "[...document.querySelectorAll('button')].find(b => b.textContent.includes('Go on')).click()"
        )
        until(lambda: shown()[0] == "held", "the record that was held is at the top")
        page.click("Stop")
        page.sees("Stopped")


class ProduceTests(SharedCase):
    def test_produce(self) -> None:
        """The form writes a record with a key and a header; the page then shows it."""
        topic = self.broker.topic("produce")
        page = self.page
        page.open("topics", topic)
        page.click("Produce")
        page.field("No key").click()
        page.fill("Key", "k1")
        page.fill("Value", '{"hello": "world"}')
        page.click("Add a header")
        page.fill("Header 1", "trace")
        page.fill("Text 1", "t-1")
        page.click("Send")
        page.sees("Written to partition 0 at offset 0.")
        page.click("Close")
        (message,) = self.broker.messages(topic, 1)
        self.assertEqual((message.key, message.value), (b"k1", b'{"hello": "world"}'))
        self.assertEqual(list(message.headers), [("trace", b"t-1")])
