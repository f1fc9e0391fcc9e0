"""Topics in the console: created, found, changed, purged and deleted by hand; hostile names and records."""

from __future__ import annotations

import uuid

from confluent_kafka import Consumer, TopicPartition
from selenium.webdriver.common.keys import Keys

from tests.browser.case import SharedCase
from tests.until import until


class TopicTests(SharedCase):
    refusals = (400,)

    def test_create_and_delete(self) -> None:
        """A topic is created by the form, has partitions added, and is deleted once its name is typed."""
        name = f"orders.{uuid.uuid4().hex[:8]}"
        page = self.page
        page.open("topics")
        page.click("Create topic")
        page.fill("Name", "no spaces")
        page.sees("Letters, digits, dot, underscore and hyphen")
        page.fill("Name", name)
        page.fill("Partitions", "3")
        page.choose("Clean up", "keep the newest of each key")
        page.click("Create")
        until(lambda: page.heading == name, "the page of the topic")
        page.click("Partitions 3")
        until(lambda: len(page.rows(f"Partitions of {name}")) == 3, "three partitions")
        page.click("Add partitions")
        page.fill("Partitions from now on", "5")
        page.click("Add")
        until(lambda: len(page.rows(f"Partitions of {name}")) == 5, "five partitions")
        page.click("Settings")
        page.fill("Search settings", "cleanup.policy")
        until(lambda: page.rows() and "compact" in page.rows()[0][1], "the setting and its value")
        page.click("Delete")
        page.fill(f"Type {name} to confirm", name[:-1])
        self.assertFalse(self.enabled("Delete the topic"))
        page.fill(f"Type {name} to confirm", name)
        page.click("Delete the topic")
        until(lambda: page.heading == "Topics", "the list of topics")
        page.fill("Search topics", name)
        page.sees(f"No topics match “{name}”")

    def enabled(self, text: str) -> bool:
        """Return True if a button can be clicked."""
        script = (
            "return [...document.querySelectorAll('button')].find(b => b.textContent.trim() === arguments[0])"
        )
        return bool(self.page.driver.execute_script(f"{script}.disabled === false", text))

    def test_settings(self) -> None:
        """A setting of a topic is changed, tells its source, and goes back to its default."""
        name = self.broker.topic("settings")
        page = self.page
        page.open("topics", name, "settings")
        page.fill("Search settings", "retention.ms")
        until(lambda: "retention.ms" in str(page.rows()[:1]), "the setting")
        page.click("Change retention.ms")
        page.fill("Value", "not a number")
        page.click("Set")
        page.sees("retention.ms")
        page.sees("not a number")
        page.fill("Value", "3600000")
        page.click("Set")
        page.sees("1 h")
        page.sees("dynamic topic")
        page.click("Change retention.ms")
        page.click("Back to the default")
        page.sees_not("dynamic topic")

    def test_purge(self) -> None:
        """Records of all partitions are deleted; offsets go on."""
        name = self.broker.topic("purged")
        self.broker.produce(name, "a", "b", "c")
        page = self.page
        page.open("topics", name)
        page.click("Purge")
        page.fill(f"Type {name} to confirm", name)
        page.click("Delete the records")
        page.open("topics", name, "partitions")
        until(lambda: page.rows() and page.rows()[0][3:5] == ["3", "3"], "the partition begins at its end")

    def test_keyboard(self) -> None:
        """ "/" goes to the search; a dialog takes the focus, Escape closes it, and the focus goes back."""
        page = self.page
        page.open("topics")
        page.press("/")
        active = "return document.activeElement.type"
        self.assertEqual(page.driver.execute_script(active), "search")
        page.click("Create topic")
        inside = "return document.activeElement.closest('dialog') !== null"
        until(lambda: page.driver.execute_script(inside), "the focus is in the dialog")
        within = (
            "const a = document.activeElement; return a === document.body || a.closest('dialog') !== null"
        )
        for _ in range(24):
            page.press(Keys.TAB)
            self.assertTrue(page.driver.execute_script(within))
        page.press(Keys.ESCAPE)
        back = "return document.activeElement.textContent.trim()"
        until(lambda: page.driver.execute_script(back) == "Create topic", "the focus is where it was")

    def test_internal(self) -> None:
        """Topics of the brokers are marked, and can be left out."""
        page = self.page
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "internal"})
        self.addCleanup(consumer.close)
        consumer.committed([TopicPartition(self.broker.topic("any"), 0)], timeout=30)
        page.open("topics", search="__consumer", internal="no")
        page.sees("No topics match")
        page.field("Internal topics").click()
        until(lambda: [row[0] for row in page.rows()] == ["__consumer_offsets"], "the internal one")
        self.assertIn("internal", page.text)

    def test_dialog_and_back(self) -> None:
        """A dialog closes when its page is left by the browser's Back."""
        page = self.page
        page.open("groups")
        page.open("topics")
        page.driver.execute_script("location.hash = '#/topics?sort=name'")
        page.click("Create topic")
        page.sees("Name")
        page.driver.execute_script("location.hash = '#/groups'")
        until(lambda: page.heading == "Groups", "the other page")
        self.assertFalse(page.driver.execute_script("return document.querySelector('dialog[open]') !== null"))

    def test_list(self) -> None:
        """The broker searches and sorts; the address keeps both."""
        mark = uuid.uuid4().hex[:6]
        small, large = (self.broker.topic(f"{mark}-{size}") for size in ("small", "large"))
        self.broker.produce(large, *["x" * 1000] * 20)
        page = self.page
        page.open("topics", search=mark)
        until(lambda: sorted(row[0] for row in page.rows()) == sorted((small, large)), "the two topics")
        page.click("Size")
        until(lambda: [row[0] for row in page.rows()] == [large, small], "the larger one first")
        self.assertIn("sort=-sizeBytes", page.driver.current_url)
        page.driver.refresh()
        until(lambda: [row[0] for row in page.rows()] == [large, small], "the same after a reload")


HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


class HostileTests(SharedCase):
    refusals = (400, 404)

    def test_records(self) -> None:
        """A key, a value, a header and a group's name that look like markup are text and nothing else."""
        name = self.broker.topic("hostile")
        self.broker.produce(name, HOSTILE, key=HOSTILE, headers=[(HOSTILE, HOSTILE.encode())])
        self.broker.produce(
            name, '{"' + HOSTILE.replace('"', "'") + '": "</pre>' + HOSTILE.replace('"', "'") + '"}'
        )
        page = self.page
        page.open("topics", name)
        until(lambda: len(page.rows(f"Records of {name}")) == 2, "both records")
        page.sees("<img src=x")
        for place in ("0 : 0", "0 : 1"):
            page.click(f"Record at partition and offset {place}")
        page.sees("</pre><img")
        self.assertEqual(page.driver.execute_script("return document.querySelectorAll('main img').length"), 0)
        self.assertIsNone(page.driver.execute_script("return window.hacked ?? null"))

    def test_addresses(self) -> None:
        """An address with markup in it shows that there is no such thing."""
        page = self.page
        page.open("topics", HOSTILE)
        self.assertEqual(page.heading, HOSTILE)
        page.open("groups", HOSTILE)
        self.assertIsNone(page.driver.execute_script("return window.hacked ?? null"))
        page.open("nowhere", "at", "all")
        page.sees("This address leads nowhere")
