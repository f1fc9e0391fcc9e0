"""The headers of all answers below ``/console``: what a browser may do with a page of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.web.calls import Answer

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Scripts and styles come from this broker's files alone; nothing in a page can add some."""

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)


def with_headers(answer: Answer) -> Answer:
    """Return an answer with these headers; its own go before them."""
    return attrs.evolve(answer, headers={**HEADERS, **answer.headers})
