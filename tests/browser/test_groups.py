"""Groups in the console: their lag, a reset with its preview, refused while members read."""

from __future__ import annotations

import uuid

from confluent_kafka import Consumer, TopicPartition

from tests.browser.case import SharedCase
from tests.until import until


class GroupTests(SharedCase):
    refusals = (409,)

    def setUp(self) -> None:
        """Make a group that has read a part of a topic."""
        super().setUp()
        self.topic = self.broker.topic("group")
        self.group = f"readers/{uuid.uuid4().hex[:6]}, all"
        self.broker.produce(self.topic, *map(str, range(30)))
        self.consumer = Consumer(
            {"bootstrap.servers": self.broker.bootstrap, "group.id": self.group, "enable.auto.commit": False}
        )
        self.addCleanup(self.consumer.close)
        self.consumer.commit(offsets=[TopicPartition(self.topic, 0, 20)], asynchronous=False)

    def offsets(self) -> list[str]:
        """Return the row of the only partition."""
        rows = self.page.rows("Offsets")
        return rows[0] if rows else []

    def test_reset(self) -> None:
        """A reset shows what would change before it does it."""
        page = self.page
        page.open("groups")
        page.fill("Search groups", self.group)
        until(lambda: [row[0] for row in page.rows("groups")] == [self.group], "it is the only one")
        page.click(self.group)
        until(lambda: self.offsets()[2:4] == ["20", "30"], "committed offset and end")
        page.sees("10 records")
        page.click("Reset offsets")
        page.choose("Set to", "forward or back by a number of records")
        page.fill("Records", "-5")
        page.click("Show what changes")
        until(lambda: page.rows("What changes") == [[self.topic, "0", "20", "15", "-5"]], "the preview")
        page.click("Set the offsets")
        page.sees(f"Offsets of {self.group} are set.")
        until(lambda: self.offsets()[2] == "15", "the new offset")
        committed = self.consumer.committed([TopicPartition(self.topic, 0)])
        self.assertEqual(committed[0].offset, 15)

    def test_one_partition(self) -> None:
        """The offset of one partition is reset from its row; others stay."""
        topic = self.broker.topic("two", partitions=2)
        for number in (0, 1):
            self.broker.produce(topic, "a", "b", partition=number)
        places = [TopicPartition(topic, number, 2) for number in (0, 1)]
        self.consumer.commit(offsets=places, asynchronous=False)
        page = self.page
        page.open("groups", self.group)
        page.click(f"Reset the offset of {topic}, partition 1")
        page.fill("Partitions", "1-")
        page.sees("Numbers and ranges, for example")
        page.fill("Partitions", "1")
        page.click("Show what changes")
        until(lambda: page.rows("What changes") == [[topic, "1", "2", "0", "-2"]], "the preview")
        page.click("Set the offsets")
        page.sees(f"Offsets of {self.group} are set.")
        self.assertEqual([one.offset for one in self.consumer.committed(places)], [2, 0])

    def test_refused(self) -> None:
        """A reset is refused while a member reads, and the refusal is told in the dialog."""
        self.consumer.subscribe([self.topic])
        until(
            lambda: (self.consumer.poll(0.1), self.consumer.assignment())[1], "the member has its partition"
        )
        page = self.page
        page.open("groups", self.group)
        until(lambda: page.rows("Members"), "the member is listed")
        page.click("Reset offsets")
        page.sees("Stop them first")
        page.click("Show what changes")
        page.sees("NON_EMPTY_GROUP")
        page.click("Cancel")
        self.assertEqual(self.offsets()[2], "20")

    def test_why_slow(self) -> None:
        """The broker says what holds a group up, when it is asked."""
        page = self.page
        page.open("groups", self.group)
        page.sees("Offsets")
        self.assertNotIn("Why slow?\nThe broker", page.text)
        page.click("Why slow?")
        page.sees("The broker looks for two seconds")
        page.sees_not("The broker looks for two seconds")
        page.sees("no members")

    def test_delete(self) -> None:
        """A group without members is deleted once its name is typed."""
        page = self.page
        page.open("groups", self.group)
        page.click("Delete")
        page.fill(f"Type {self.group} to confirm", self.group)
        page.click("Delete the group")
        page.sees(f"Group {self.group} is deleted.")
        until(lambda: page.heading == "Groups", "the list of groups")
