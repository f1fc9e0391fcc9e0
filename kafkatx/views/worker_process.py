"""The process that decodes, filters and encodes messages: ``python -m kafkatx.views.worker_process``.

Its standard input has requests (:mod:`~kafkatx.views.requests`), and is closed when the broker dies or needs
it no more. Its standard output has the answer to each, in order. It knows no Twisted. Its priority is low,
and a request that needs more than :data:`MOST_BYTES` of memory is refused, or ends it: then the next one
starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from kafkatx.errors import KafkaTXError
from kafkatx.views.encoders import BadText, encode
from kafkatx.views.formats.registered import Schemas
from kafkatx.views.requests import FRAME, StepRequest, Typed, ViewRequest, encode_frame
from kafkatx.views.seen import View
from kafkatx.views.step import Step

MOST_BYTES: Final = 2 << 30
"""The address space that the process may use."""

NICENESS: Final = 10
MOST_VIEWS: Final = 32
"""Views that are kept compiled."""

Parts = tuple[bytes, "bytes | bytearray | memoryview"]


class Performer:
    """Answers requests.

    :param seconds: the time of a monotonic clock.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._schemas = Schemas()
        self._views: dict[ViewRequest, View] = {}

    def answer(self, head: Mapping[str, Any], body: bytes) -> Parts:
        """Return the answer to a request; no message can make this fail, as far as Python can help it."""
        try:
            if "encode" in head:
                return self._encode(head["encode"], head["schemas"])
            return self._step(head, body)
        except (KafkaTXError, ValueError) as error:
            return encode_frame({"error": str(error)})
        except RecursionError:
            return encode_frame({"error": "a message is nested too deeply"})
        except MemoryError:
            return encode_frame({"error": "a message needs too much memory"})
        except Exception as error:
            return encode_frame({"error": f"{type(error).__name__}: {error}"})

    def _step(self, head: Mapping[str, Any], body: bytes) -> Parts:
        self._schemas.take(head["schemas"])
        self._schemas.asks = not head["isLast"]
        request = StepRequest.read(head["step"])
        view = self._views.get(request.view)
        if view is None:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            view = self._views[request.view] = View.of(request.view, self._schemas)
        return Step(request, view, self._schemas, self._seconds).take(body).encode()

    def _encode(self, sides: list[Mapping[str, Any]], schemas: Mapping[str, Mapping[str, object]]) -> Parts:
        found: list[bytes | None] = []
        for side, name in zip(sides, ("key", "value"), strict=True):
            try:
                found.append(encode(Typed(**side), schemas))
            except BadText as error:
                return encode_frame({"error": f"the {name} is {error}"})
        return encode_frame(
            {"sizes": [None if one is None else len(one) for one in found]},
            b"".join(one or b"" for one in found),
        )


def serve(source: BinaryIO, target: BinaryIO, performer: Performer) -> None:
    """Answer requests until the source ends."""
    while len(start := source.read(FRAME.size)) == FRAME.size:
        head_size, body_size = FRAME.unpack(start)
        head, body = source.read(head_size), source.read(body_size)
        if len(body) < body_size:
            return
        for part in performer.answer(json.loads(head), body):
            target.write(part)
        target.flush()


def _limit() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not everywhere

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        os.nice(NICENESS)


def main() -> None:
    """Answer requests until standard input ends; what a library prints does not get between the answers."""
    _limit()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers, Performer())


if __name__ == "__main__":
    main()
