"""Answers of the registry: bodies of JSON, long lists in pieces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kafkatx.web.calls import Answer, Call, as_json
from kafkatx.web.pieces import json_list

SCHEMA_REGISTRY_JSON = "application/vnd.schemaregistry.v1+json"
ACCEPTED = (SCHEMA_REGISTRY_JSON, "application/vnd.schemaregistry+json", "application/json")

SHORT = 1000
"""A list of at most that many items is encoded at once."""


def content_type(headers: Mapping[str, str]) -> str:
    """Return the type of the answer: the first of those that the client accepts, or Confluent's own."""
    for item in headers.get("accept", "").split(","):
        name = item.partition(";")[0].strip().lower()
        if name in ACCEPTED:
            return name
    return SCHEMA_REGISTRY_JSON


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
