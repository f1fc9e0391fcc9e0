"""Recursion without the stack of Python: as deep as schemas go, and with a bound on its steps. Pure.

A recursive function is written as a generator: ``result = yield walk(part)`` calls it for a part. Schemas
whose types refer to each other by name can be nested as deep as their texts are long.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.limits import MAX_STEPS

T = TypeVar("T")

Walk: TypeAlias = "Generator[Walk[T], T, T]"
"""A call under way: yields the calls that it makes, is sent their results, and returns its own."""


class TooManySteps(KafkaTXError):
    """A walk has made more calls than it may."""


def run(walk: Walk[T], most_steps: int = MAX_STEPS) -> T:
    """Return the result of a call.

    :raises TooManySteps: it has made more than *most_steps* calls.
    """
    stack = [walk]
    steps = 0
    results: list[T] = []
    while stack:
        try:
            call = stack[-1].send(results.pop()) if results else next(stack[-1])
        except StopIteration as done:
            stack.pop()
            results.append(done.value)
        else:
            stack.append(call)
            steps += 1
            if steps > most_steps:
                raise TooManySteps(f"more than {most_steps} steps")
    return results.pop()
