"""A row of the table of the console's API. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import attrs

API = ("console", "api", "v1")
"""The first segments of all paths of the API."""

Result: TypeAlias = object
"""A value of JSON, or an :class:`~kafkatx.web.calls.Answer`."""


@attrs.frozen
class Route:
    """A request that the API answers.

    :ivar pattern: its path below ``/console/api/v1``, ``/topics/{name}``.
    :ivar answer: takes the call, and a text for each placeholder.
    :ivar summary: what it does, for the description of the API.
    :ivar query: the parameters after ``?``, with what they are.
    :ivar body: the fields of the body, with what they are.
    :ivar changes: True if it may change something: it is carried through when its client goes, and a
        read-only console refuses it.
    :ivar public: True if clients that are not logged in may ask.
    """

    method: str
    pattern: str
    answer: Callable[..., Result | Awaitable[Result]]
    summary: str
    query: Mapping[str, str] = MappingProxyType({})
    body: Mapping[str, str] = MappingProxyType({})
    changes: bool = False
    public: bool = False
