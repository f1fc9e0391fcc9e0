"""The context of a request: who sent it, in which version, and what an error tells the client. Pure."""

from __future__ import annotations

import attrs

from kafkatx.errors import RequestError
from kafkatx.net.requests import Peer

MAX_MESSAGE_CHARACTERS = 1000


@attrs.frozen(eq=False)
class RequestContext:
    """A request without its body; consecutive requests of one client may share it."""

    api_key: int
    version: int
    client_id: str | None
    peer: Peer


def error_message(error: RequestError) -> str:
    """Return an error's text for the client, cut so that what it quotes of a request fits into a reply."""
    text = str(error)
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:MAX_MESSAGE_CHARACTERS]}..."
