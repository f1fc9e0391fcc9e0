"""Messages for tests, made from the declarations: at random, or one that has something in every field."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkatx.wire.api import APIS
from kafkatx.wire.schema import (
    BOOLEAN,
    FLOAT64,
    NULL_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Fixed,
    Message,
    Nullable,
    Sized,
    Struct,
    Type,
)

S = TypeVar("S", bound=Struct)

VERSIONS: list[tuple[type[Message], int]] = [
    (cls, version) for api in APIS.values() for cls in (api.request, api.response) for version in api.versions
]
"""Every message in every version."""

BOUNDS = {
    "b": (-(2**7), 2**7 - 1),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
    "q": (-(2**63), 2**63 - 1),
}


def messages(cls: type[S], version: int) -> st.SearchStrategy[S]:
    """Messages as this version can carry them: what it lacks has its default."""
    fields = {f.name: _values(f, version) for f in cls.FIELDS if f.exists_in(version)}
    return st.builds(cls, **fields)


def _values(f: Field, version: int) -> st.SearchStrategy[Any]:
    if f.name.endswith("error_code"):
        return st.integers(-1, 100)  # the oracles know no others
    if f.name in ("log_append_time_ms", "retention_time_ms", "transaction_start_time_ms"):
        return st.integers(-1, 2**41)  # the oracles make dates and durations of it
    values = _of(f.type_in(version), version)
    if f.tag is not None and isinstance(f.type, type):
        # a struct with nothing but defaults is not sent, and so comes back as None
        return st.none() | values.filter(lambda struct: struct != type(struct)())
    return values


def _of(kind: Type, version: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, Nullable):
        return st.none() | _of(kind.of, version)
    if isinstance(kind, Array):
        return st.lists(_of(kind.of, version), max_size=3)
    if isinstance(kind, Sized):
        return st.text(max_size=200) if kind is STRING else st.binary(max_size=200)
    if isinstance(kind, Fixed):
        return _fixed(kind)
    return messages(kind, version)


def _fixed(kind: Fixed) -> st.SearchStrategy[Any]:
    if kind is BOOLEAN:
        return st.booleans()
    if kind is UUID:
        return st.just(NULL_UUID) | st.uuids()
    if kind is FLOAT64:
        return st.floats(allow_nan=False)
    return st.integers(*BOUNDS[kind.letter])


def sample(cls: type[S], version: int) -> S:
    """A message with a value of its own in every field, and two elements in every list."""
    made: S = _sample(cls, version, itertools.count(1))
    return made


def _sample(kind: Any, version: int, numbers: itertools.count[int]) -> Any:
    if isinstance(kind, Nullable):
        return _sample(kind.of, version, numbers)
    if isinstance(kind, Array):
        return [_sample(kind.of, version, numbers) for _ in range(2)]
    if isinstance(kind, Sized):
        return f"text {next(numbers)}" if kind is STRING else b"bytes %d" % next(numbers)
    if isinstance(kind, Fixed):
        number = next(numbers)
        return True if kind is BOOLEAN else uuid.UUID(int=number) if kind is UUID else number
    fields = {f.name: _sample(f.type, version, numbers) for f in kind.FIELDS if f.exists_in(version)}
    return kind(**fields)


def for_every_version(check: Callable[[type[Message], int, Message], None], examples: int = 5) -> None:
    """Run ``check(cls, version, message)`` with some random messages of every version."""
    for cls, version in VERSIONS:
        _check_version(check, cls, version, examples)


def _check_version(
    check: Callable[[type[Message], int, Message], None], cls: type[Message], version: int, examples: int
) -> None:
    @quick(examples)
    @given(messages(cls, version))
    def run(message: Message) -> None:
        check(cls, version, message)

    run()


def quick(examples: int) -> settings:
    """Settings for a test that runs beside many others."""
    return settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
