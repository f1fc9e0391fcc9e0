"""The console's page as a person sees it: texts, buttons, fields by their labels, no classes of CSS."""

from __future__ import annotations

import time
from urllib.parse import quote, urlencode

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.chromium import Browser
from tests.until import until

FIND = """
const [kind, wanted] = arguments;
const scope = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
const shown = (element) => element.checkVisibility();
const said = (one) => (one.getAttribute("aria-label") ?? one.textContent).replace(/\\s+/g, " ").trim();
const all = (kinds) => [...scope.querySelectorAll(kinds)];
const find = (kinds) => all(kinds).find((one) => shown(one) && said(one) === wanted) ?? null;
if (kind === "control") return find("button, a[href]");
const label = find("label, legend");
if (label) return label.htmlFor ? document.getElementById(label.htmlFor) : label.querySelector("input");
const name = CSS.escape(wanted);
return scope.querySelector(`input[placeholder="${name}"], [aria-label="${name}"]`);
"""

ROWS = """
const scope = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
const [caption] = arguments;
const all = [...scope.querySelectorAll("table")];
const table = all.find((one) => !caption || one.caption?.textContent === caption);
return [...(table?.tBodies[0]?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
"""


STILL_S = 0.05
"""Seconds in which what is clicked must not have moved: lists are drawn anew, with other rows there."""


def _is_still(element: WebElement) -> bool:
    before = element.rect
    time.sleep(STILL_S)
    return bool(element.rect == before)


class Page:
    """The page of a console.

    :param url: the address of the HTTP listener.
    """

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser = browser
        self.driver = browser.driver
        self.url = f"{url.rstrip('/')}/console/"

    def open(self, *segments: str, **query: str) -> None:
        """Go to an address of the console, and wait until its view has a heading."""
        address = "/".join(quote(segment, safe="") for segment in segments)
        url = f"{self.url}#/{address}{'?' + urlencode(query) if query else ''}"
        self._load(url)

        def there() -> bool:
            if not self.heading and self.browser.was_interrupted():
                self._load(url)
            return bool(self.heading)

        until(there, f"a heading at {segments}")

    def _load(self, url: str) -> None:
        self.driver.get("about:blank")  # a change after the "#" alone would keep the page
        self.driver.get(url)

    @property
    def heading(self) -> str:
        """The heading of the view."""
        return str(self.driver.execute_script("return document.querySelector('h1')?.textContent ?? ''"))

    @property
    def text(self) -> str:
        """All text that is shown, of the uppermost dialog if one is open."""
        script = "return ([...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body).innerText"
        return str(self.driver.execute_script(script))

    def rows(self, caption: str = "") -> list[list[str]]:
        """The cells of a table's rows: the one with that caption, or the first."""
        found: list[list[str]] = self.driver.execute_script(ROWS, caption)
        return found

    def sees(self, text: str) -> None:
        """Wait until a text is shown."""
        self._until(lambda: text in self.text, f"{text!r} is shown")

    def sees_not(self, text: str) -> None:
        """Wait until a text is not shown."""
        self._until(lambda: text not in self.text, f"{text!r} is not shown")

    def _until(self, condition: object, what: str) -> None:
        assert callable(condition)
        try:
            until(condition, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the page says:\n{self.text[:3000]}") from None

    def has(self, text: str) -> bool:
        """True if there is a button or link with that text now."""
        return self.driver.execute_script(FIND, "control", text) is not None

    def click(self, text: str) -> None:
        """Click the button or link with that text (or label), once it is there and enabled."""

        def clicked() -> bool:
            found: WebElement | None = self.driver.execute_script(FIND, "control", text)
            try:
                if found is None or not found.is_enabled() or not _is_still(found):
                    return False
                found.click()
            except (StaleElementReferenceException, WebDriverException):
                return False  # it was drawn anew, or something moved over it
            return True

        self._until(clicked, f"{text!r} can be clicked")

    def field(self, label: str) -> WebElement:
        """The field with a label (or placeholder), once it is there."""
        found: list[WebElement] = []

        def there() -> bool:
            one = self.driver.execute_script(FIND, "field", label)
            found[:] = [] if one is None else [one]
            return bool(found)

        self._until(there, f"a field {label!r}")
        return found[0]

    def fill(self, label: str, text: str) -> None:
        """Type a text into a field, in place of what it has."""
        field = self.field(label)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)

    def choose(self, label: str, text: str) -> None:
        """Choose an option by its text."""
        script = """
            const [select, wanted] = arguments;
            const option = [...select.options].find((one) => one.textContent.trim() === wanted);
            if (!option) return false;
            select.value = option.value;
            select.dispatchEvent(new Event("change", { bubbles: true }));
            return true;
        """
        chosen = self.driver.execute_script(script, self.field(label), text)
        assert chosen, f"{label} has no option {text!r}"

    def press(self, keys: str) -> None:
        """Press keys where the focus is."""
        self.driver.switch_to.active_element.send_keys(keys)

    def violations(self) -> list[str]:
        """The violations of the content security policy since the page was loaded."""
        found: list[str] = self.driver.execute_script("return window.violations ?? []")
        return found

    def overflow(self) -> int:
        """CSS pixels by which the page is wider than the window: 0 if it does not scroll sideways."""
        script = "const page = document.scrollingElement; return page.scrollWidth - page.clientWidth"
        return max(0, int(self.driver.execute_script(script)))
