"""``make console-pictures``: the pictures of docs/console-tour.md, of a small shop with live traffic."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
from PIL import Image

from tests.browser.chromium import Browser, shared_browser
from tests.browser.page import Page
from tests.browser.scene import Shop
from tests.until import until

COLOURS = 128
WARM_S = 480
"""Seconds of traffic before the first picture, so that charts have something to show."""


@attrs.frozen
class Picture:
    """A picture: what is done before it, and the window."""

    name: str
    prepare: Callable[[Page], None]
    width: int = 1280
    height: int = 860
    scheme: str = "light"


def _overview(page: Page) -> None:
    page.open()
    page.sees("Busiest topics")
    until(lambda: "/s" in page.rows("Busiest topics")[0][-1], "the rates of topics")


def _topics(page: Page) -> None:
    page.open("topics", sort="-sizeBytes")
    until(lambda: len(page.rows("topics")) > 3, "the topics")


def _messages(page: Page) -> None:
    page.open("topics", "orders", filter='value.status == "failed" and value.total > 30')
    until(lambda: len(page.rows("Records of orders")) > 3, "the records")
    row = page.rows("Records of orders")[1]
    page.click(" ".join(row[0].split()))


def _group(page: Page) -> None:
    page.open("groups", "billing")
    until(lambda: page.rows("Offsets") and page.rows("Members"), "offsets and members")


def _reset(page: Page) -> None:
    page.open("groups", "reports")
    page.click("Reset offsets")
    page.choose("Set to", "forward or back by a number of records")
    page.fill("Records", "250")
    page.click("Show what changes")
    until(lambda: page.rows("What changes"), "the preview")


def _schemas(page: Page) -> None:
    page.open("schemas", "orders-value", version="2", **{"with": "1"})
    page.sees("lines differ")


PICTURES = (
    Picture("overview", _overview),
    Picture("overview-dark", _overview, scheme="dark"),
    Picture("topics", _topics),
    Picture("messages", _messages, height=1080),
    Picture("group", _group),
    Picture("reset", _reset),
    Picture("schema", _schemas),
    Picture("phone", _overview, 400, 860, "dark"),
)


def take(browser: Browser, url: str, picture: Picture, folder: Path) -> None:
    """Take one picture; it has few colours, so that it is small."""
    browser.resize(picture.width, picture.height)
    browser.prefer(picture.scheme)
    page = Page(browser, url)
    picture.prepare(page)
    time.sleep(2.5)  # the charts have their samples, and the newest numbers are there
    image = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(folder / f"{picture.name}.png", optimize=True)


def main(folder: Path, names: list[str], warm_s: float = WARM_S) -> None:
    """Take all pictures, or those with these names."""
    folder.mkdir(parents=True, exist_ok=True)
    with Shop() as shop:
        time.sleep(warm_s)
        for picture in PICTURES:
            if not names or picture.name in names:
                take(shared_browser(), shop.http, picture, folder)
                sys.stdout.write(f"{folder / picture.name}.png\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
