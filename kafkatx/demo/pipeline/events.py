"""The input of the deployment: made-up events of a web site, or the lines of a file. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

PAGEVIEWS, SEARCHES, LINES = "pageviews", "searches", "lines"
SITE_TOPICS = (PAGEVIEWS, SEARCHES)

_PAGES = ("/feed", "/jobs", "/people", "/groups", "/messages")
_WORDS = ("kafka", "twisted", "python", "spark", "zookeeper", "streams", "logs", "hadoop")
_MEMBERS = 500
_SEARCH_SHARE = 0.2


def site_events(count: int, seed: int = 2011) -> Iterator[tuple[str, bytes]]:
    """Yield topics and messages: pages that members look at, and words that they search for."""
    chance = random.Random(seed)
    for _ in range(count):
        member = f"member-{chance.randrange(_MEMBERS):03d}"
        if chance.random() < _SEARCH_SHARE:
            words = " ".join(chance.sample(_WORDS, 2))
            yield SEARCHES, f"{member} {words}".encode()
        else:
            page = f"{chance.choice(_PAGES)}/{chance.randrange(1000)}"
            yield PAGEVIEWS, f"{member} {page}".encode()


def line_events(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the topic of lines with each of them."""
    return ((LINES, line) for line in lines)
