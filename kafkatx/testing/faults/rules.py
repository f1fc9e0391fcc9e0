"""Rules by which requests are answered wrongly, late or not at all. Pure, and safe to use from any thread."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import TypeAlias

import attrs

from kafkatx.errors import ErrorCode


@attrs.frozen
class Refuse:
    """The request is answered with an error, and nothing of it is done."""

    code: ErrorCode


@attrs.frozen
class Delay:
    """The request is served later; others of its connection wait behind it."""

    seconds: float


@attrs.frozen
class Drop:
    """The connection is closed; nothing of the request is done."""


@attrs.frozen
class LoseReply:
    """The request is served, and the connection is closed in place of a reply."""


Action: TypeAlias = Refuse | Delay | Drop | LoseReply


@attrs.define(eq=False)
class Rule:
    """One rule.

    :ivar api: name of the requests, as ``Produce``.
    :ivar topic: only requests that name this topic; None: all.
    :ivar times: number of requests that it is still for; None: no limit.
    :ivar hits: number of requests that it was for.
    """

    api: str
    topic: str | None
    action: Action
    times: int | None
    hits: int = 0


class Rules:
    """The rules of one broker. The oldest one that fits a request counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        """Add a rule; return it."""
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Remove all rules."""
        with self._lock:
            self._rules.clear()

    def take(self, api: str, topics: Collection[str]) -> Action | None:
        """Return the action for a request, and count it.

        :param topics: the topics that the request names.
        """
        with self._lock:
            for rule in self._rules:
                if rule.api == api and (rule.topic is None or rule.topic in topics):
                    rule.hits += 1
                    if rule.times is not None:
                        rule.times -= 1
                        if not rule.times:
                            self._rules.remove(rule)
                    return rule.action
        return None
