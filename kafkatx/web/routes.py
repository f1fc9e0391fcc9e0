"""The routes of an application: which handler answers a method and a path. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkatx.web.calls import Answer, Call, Outcome, WebError

Handler = Callable[..., Outcome]
"""Takes a call, and a text for each placeholder of the pattern."""


class Routes:
    """A table of patterns such as ``/subjects/{subject}/versions``."""

    def __init__(self) -> None:
        self._by_length: dict[int, list[tuple[tuple[str, ...], dict[str, Handler]]]] = {}

    def add(self, method: str, pattern: str, handler: Handler) -> None:
        """Add a handler. Of two patterns that fit, the one that was added first counts."""
        segments = tuple(pattern.split("/")[1:]) if pattern != "/" else ()
        table = self._by_length.setdefault(len(segments), [])
        for known, handlers in table:
            if known == segments:
                handlers[method] = handler
                return
        table.append((segments, {method: handler}))

    def answer(self, call: Call) -> Outcome:
        """Call the handler.

        :raises WebError: there is none: 404, or 405 with the methods that there are.
        """
        for segments, handlers in self._by_length.get(len(call.path), ()):
            found = fit(segments, call.path)
            if found is None:
                continue
            handler = handlers.get(call.method)
            if handler is not None:
                return handler(call, *found)
            if call.method == "OPTIONS":
                return Answer(200, headers={"Allow": ", ".join(sorted(handlers))})
            raise WebError(405, "HTTP 405 Method Not Allowed")
        raise WebError(404, "HTTP 404 Not Found")


def fit(pattern: Sequence[str], path: Sequence[str]) -> list[str] | None:
    """Return the texts for the placeholders of a pattern of the same length; None if it does not fit."""
    found = []
    for wanted, segment in zip(pattern, path, strict=True):
        if wanted.startswith("{"):
            found.append(segment)
        elif wanted != segment:
            return None
    return found
