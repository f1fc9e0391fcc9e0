"""Rights in the console: a login, ACLs, and a console that changes nothing."""

from __future__ import annotations

import os
import time

from tests.broker.logins.tokens.issuer import ISSUER, key_set, token
from tests.browser.case import BrowserCase
from tests.browser.page import Page
from tests.until import until

MODULE = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="sesame-1"'
    ' user_alice="sesame-2";'
)
SECURED = {
    "authorizer.class.name": "acl",
    "super.users": "User:admin;User:ANONYMOUS",
    "kafkatx.http.authentication": "basic",
    "listener.name.http.plain.sasl.jaas.config": MODULE,
}


class LoginTests(BrowserCase):
    refusals = (401, 403)

    def log_in(self, page: Page, user: str, password: str) -> None:
        """Fill in the form."""
        page.fill("User", user)
        page.fill("Password", password)
        page.click("Log in")

    def test_login_and_acls(self) -> None:
        """A wrong password is refused; an administrator gives a right; its user has that one and no other."""
        broker = self.start(SECURED)
        seen, hidden = broker.topic("seen"), broker.topic("hidden")
        broker.produce(seen, "a")
        page = self.page_of(broker)
        page.open("acls")
        self.assertEqual(page.heading, "Log in")
        self.log_in(page, "admin", "wrong")
        page.sees("wrong user or password")
        self.log_in(page, "admin", "sesame-1")
        page.sees("No ACLs yet")
        page.click("Add an ACL")
        page.fill("Who", "User:alice")
        page.fill("Name", seen)
        page.click("Add")
        until(lambda: page.rows() and page.rows()[0][0] == "User:alice", "the ACL is listed")
        page.click("Log out")
        page.sees("Users of this Kafka cluster log in here")

        self.log_in(page, "alice", "sesame-2")
        page.sees("User:alice")
        page.open()
        page.sees("You may not see the cluster as a whole")
        self.assertEqual(page.driver.execute_script("return document.querySelectorAll('.chart').length"), 0)
        page.open("topics")
        page.sees(seen)
        self.assertNotIn(hidden, page.text)
        page.click("Create topic")
        page.fill("Name", "mine")
        page.click("Create")
        page.sees("AUTHORIZATION_FAILED")
        page.click("Cancel")
        page.click(seen)
        until(lambda: page.rows(f"Records of {seen}"), "the record")
        self.assertFalse(page.has("Delete"))

    def test_token(self) -> None:
        """A token of the issuer is pasted; where there are passwords, too, people choose."""
        keys = os.path.abspath(self.mktemp())
        with open(keys, "wb") as file:
            file.write(key_set("a"))
        tokens = {
            "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
        }
        for ways in ("bearer", "basic,bearer"):
            page = self.page_of(self.start({**SECURED, **tokens, "kafkatx.http.authentication": ways}))
            page.open("users")
            if "basic" in ways:
                page.field("Token").send_keys(" ")
            page.fill("Access token", token(iat=int(time.time()) - 60, exp=int(time.time()) - 30))
            page.click("Log in")
            page.sees("the token is wrong, or has expired")
            page.fill("Access token", token(iat=int(time.time()), exp=int(time.time()) + 300))
            page.click("Log in")
            page.sees("User:alice")
            page.click("Log out")
            page.sees("Users of this Kafka cluster log in here")


class ReadOnlyTests(BrowserCase):
    def test_read_only(self) -> None:
        """A read-only console shows everything, says what it is, and has no controls for changes."""
        broker = self.start({"kafkatx.console.read.only": True})
        topic = broker.topic("seen")
        broker.produce(topic, "a")
        page = self.page_of(broker)
        page.open("topics")
        page.sees(topic)
        page.sees("Read-only: this console")
        self.assertFalse(page.has("Create topic"))
        page.open("topics", topic)
        until(lambda: page.rows(f"Records of {topic}"), "the record")
        for control in ("Produce", "Delete", "Purge", "Add partitions"):
            self.assertFalse(page.has(control), control)
        page.click("Settings")
        page.sees("cleanup.policy")
        self.assertFalse(page.has("Change cleanup.policy"))
        for place in ("users", "quotas", "schemas"):
            page.open(place)
            page.sees("yet")
            self.assertFalse(any(page.has(text) for text in ("Add an ACL", "Add a user", "Add a quota")))
