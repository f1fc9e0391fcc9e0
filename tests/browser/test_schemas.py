"""Schemas in the console: registered, checked, evolved with a difference to look at."""

from __future__ import annotations

import json
import uuid

from tests.browser.case import SharedCase
from tests.until import until

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


class SchemaTests(SharedCase):
    refusals = (409, 422)

    def test_evolve(self) -> None:
        """A new version is compared with the one before, checked, refused or registered."""
        subject = f"orders-{uuid.uuid4().hex[:6]}-value"
        page = self.page
        page.open("schemas")
        page.click("Register a schema")
        page.fill("Subject", subject)
        self.write(FIRST)
        page.click("Register")
        until(lambda: page.heading == subject, "the page of the subject")
        page.sees("1 version")

        fields = [*FIRST["fields"], {"name": "total", "type": "double"}]
        page.click("New version")
        self.write({**FIRST, "fields": fields})
        page.sees("lines differ")
        page.click("Check compatibility")
        page.sees("It is not compatible")
        fields[-1]["default"] = 0.0  # type: ignore[index]
        self.write({**FIRST, "fields": fields})
        page.click("Check compatibility")
        page.sees("It is compatible")
        page.click("Register")
        page.sees("2 versions")
        page.sees("version 1 → version 2")
        added = "return [...document.querySelectorAll('.diff-added')].map((cell) => cell.innerText)"
        until(lambda: any("total" in line for line in page.driver.execute_script(added)), "the new field")

    def write(self, schema: object) -> None:
        """Put a schema into the editor."""
        script = """
            arguments[0].value = arguments[1];
            arguments[0].dispatchEvent(new Event("input", { bubbles: true }));
        """
        text = json.dumps(schema, indent=2)
        self.page.driver.execute_script(script, self.page.field("Schema"), text)

    def test_compatibility(self) -> None:
        """The level of a subject is chosen on its page."""
        subject = f"levels-{uuid.uuid4().hex[:6]}"
        page = self.page
        page.open("schemas")
        page.click("Register a schema")
        page.fill("Subject", subject)
        page.click("Register")
        until(lambda: page.heading == subject, "the page of the subject")
        page.choose("Compatibility", "FULL")
        page.sees(f"New versions of {subject} are checked as FULL.")
