"""Answers of the registry: bodies of JSON, long lists in pieces. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kafkatx.web.calls import Answer, Call, WebError, as_json
from kafkatx.web.pieces import json_list

SCHEMA_REGISTRY_JSON = "application/vnd.schemaregistry.v1+json"
ACCEPTED = (SCHEMA_REGISTRY_JSON, "application/vnd.schemaregistry+json", "application/json")

_ANY = ("*/*", "application/*", "*")
_NOT = re.compile(r";q=0(\.0*)?(;|\Z)")

SHORT = 1000
"""A list of at most that many items is encoded at once."""


def content_type(headers: Mapping[str, str]) -> str:
    """Return the type of the answer: the first that the client accepts, Confluent's own if it takes any.

    :raises WebError: it accepts none.
    """
    accepted = headers.get("accept", "").strip() or "*/*"
    for item in accepted.split(","):
        name, _, parameters = item.lower().replace(" ", "").partition(";")
        if _NOT.search(f";{parameters}"):
            continue
        if name in ACCEPTED:
            return name
        if name in _ANY:
            return SCHEMA_REGISTRY_JSON
    raise WebError(406, f"the answer is one of {', '.join(ACCEPTED)}, and none of them is accepted")


def answer(value: object) -> Answer:
    """Return a response with a body of JSON."""
    return Answer(200, as_json(value))


def listed(call: Call, items: Sequence[object]) -> Answer:
    """Return a response with the part of a list that ``offset`` and ``limit`` ask for."""
    first, end = _bounds(call)
    chosen = items[first:end]
    return answer(list(chosen)) if len(chosen) <= SHORT else Answer(200, json_list(chosen))


def streamed(call: Call, items: Iterator[object]) -> Answer:
    """Return the same for a list that is made while it is sent."""
    return Answer(200, json_list(islice(items, *_bounds(call))))


def _bounds(call: Call) -> tuple[int, int | None]:
    first, limit = max(call.number("offset", 0), 0), call.number("limit", -1)
    return first, None if limit < 0 else first + limit
