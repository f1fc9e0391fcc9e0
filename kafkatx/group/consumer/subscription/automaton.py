"""Matches a regular expression against names, in time linear in the length of the name. Pure.

The tree of :mod:`kafkatx.group.consumer.subscription.expression` becomes a nondeterministic automaton
(Thompson's construction). The set of its states after each character is looked up in a table that is filled
on demand, so a name costs one look-up per character (a lazy DFA, as in RE2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkatx.group.consumer.subscription.expression import (
    ALPHABET,
    WORD,
    Assert,
    Either,
    ExpressionError,
    Node,
    Repeat,
    Sequence,
    parse,
)

MOST_STATES = 10_000
"""Maximum number of states; ``(a{1000}){1000}`` would have a million."""

MOST_KNOWN = 5_000
"""Maximum number of transitions in the table; then the table is cleared."""

MOST_WORK = 500_000
"""Maximum number of states visited for one list of names: about 0.1 s. A usual expression needs a thousandth
of it, for any number of names."""

BOTH_ENDS = ""


class _State(NamedTuple):
    """A state; its transitions need a character, or an assertion about the position."""

    accepted: frozenset[str] | None
    what: str
    to: list[int]


class Expression:
    """A compiled expression, which is matched against whole names.

    :param alphabet: the characters of the names, as for :func:`parse`.
    :param most_states: the number of states that it may have.
    :raises ExpressionError: the expression is invalid or too large.
    """

    def __init__(
        self, text: str, alphabet: frozenset[str] = ALPHABET, most_states: int | None = None
    ) -> None:
        self.text = text
        self._most_states = MOST_STATES if most_states is None else most_states
        self._states: list[_State] = []
        begin, self._end = self._build(parse(text, alphabet))
        self._begin = frozenset((begin,))
        self._known: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._ends: dict[tuple[frozenset[int], str], bool] = {}
        self._work = 0

    def among(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names that match as a whole.

        :raises ExpressionError: matching takes too much work.
        """
        self._work = 0
        return frozenset(name for name in names if self.matches(name))

    def matches(self, name: str) -> bool:
        """Return True if a name matches as a whole; the work is added to that of the names before.

        :raises ExpressionError: matching takes too much work.
        """
        states, before = self._begin, BOTH_ENDS
        for character in name:
            states = self._after(states, before, character)
            if not states:
                return False
            before = "a" if character in WORD else "-"
        return self._may_end(states, before)

    # --- building

    def _new(self, accepted: frozenset[str] | None = None, what: str = "") -> int:
        if len(self._states) >= self._most_states:
            raise ExpressionError("expression too large")
        self._states.append(_State(accepted, what, []))
        return len(self._states) - 1

    def _link(self, one: int, other: int) -> None:
        self._states[one].to.append(other)

    def _build(self, node: Node) -> tuple[int, int]:
        """Add the states of a node; return the first and the last."""
        if isinstance(node, Sequence):
            return self._chain(node.parts)
        if isinstance(node, Repeat):
            return self._repeat(node)
        first, last = self._new(), self._new()
        if isinstance(node, Either):
            for part in node.parts:
                begin, end = self._build(part)
                self._link(first, begin)
                self._link(end, last)
            return first, last
        step = self._new(what=node.what) if isinstance(node, Assert) else self._new(node.accepted)
        self._link(first, step)
        self._link(step, last)
        return first, last

    def _chain(self, parts: tuple[Node, ...]) -> tuple[int, int]:
        first = last = self._new()
        for part in parts:
            begin, end = self._build(part)
            self._link(last, begin)
            last = end
        return first, last

    def _repeat(self, node: Repeat) -> tuple[int, int]:
        first, last = self._chain((node.part,) * node.least)
        out = self._new()
        if node.most is None:
            begin, end = self._build(node.part)
            self._link(last, begin)
            self._link(end, begin)
            self._link(end, out)
        for _ in range((node.most or 0) - node.least):
            begin, end = self._build(node.part)
            self._link(last, out)
            self._link(last, begin)
            last = end
        self._link(last, out)
        return first, out

    # --- matching

    def _after(self, states: frozenset[int], before: str, character: str) -> frozenset[int]:
        """Return the states after a character."""
        key = (states, before, character)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            reached = self._reach(states, before, character)
            known = self._known[key] = frozenset(
                to
                for state in reached
                if character in (self._states[state].accepted or ())
                for to in self._states[state].to
            )
        return known

    def _may_end(self, states: frozenset[int], before: str) -> bool:
        known = self._ends.get((states, before))
        if known is None:
            if len(self._ends) >= MOST_KNOWN:
                self._ends.clear()
            known = self._ends[states, before] = self._end in self._reach(states, before, BOTH_ENDS)
        return known

    def _reach(self, states: frozenset[int], before: str, after: str) -> set[int]:
        """Return the states that can be reached without a character, between *before* and *after*."""
        reached, todo = set(states), list(states)
        self._work += len(todo)
        if self._work > MOST_WORK:
            raise ExpressionError("it takes too much to match")
        while todo:
            state = self._states[todo.pop()]
            if state.accepted is None and (not state.what or _holds(state.what, before, after)):
                new = [to for to in state.to if to not in reached]
                self._work += len(new)
                reached.update(new)
                todo.extend(new)
        return reached


def _holds(what: str, before: str, after: str) -> bool:
    """Return True if an assertion holds between two characters; BOTH_ENDS is the beginning or the end."""
    if what == "begin":
        return before == BOTH_ENDS
    if what == "end":
        return after == BOTH_ENDS
    is_border = (before in WORD) != (after in WORD)
    return is_border if what == "word" else not is_border
