"""The comparison of two JSON schemas: the old one, of the writer, and the new one, of the reader. Pure.

The verdicts are those of Confluent's registry with its strict policy. Beyond them this comparison sees
changes of ``contains``, ``propertyNames``, ``patternProperties`` and conditions, which theirs passes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafkatx.schemas.json_schema.arrays import array_reasons
from kafkatx.schemas.json_schema.combinations import largest_match, may_replace, size_change
from kafkatx.schemas.json_schema.objects import Reasons, object_reasons
from kafkatx.schemas.json_schema.patterns import Patterns
from kafkatx.schemas.json_schema.reasons import reason
from kafkatx.schemas.json_schema.shapes import Criterion, Kind, Shape
from kafkatx.schemas.json_schema.values import (
    condition_reasons,
    const_reasons,
    enum_reasons,
    number_reasons,
    string_reasons,
)
from kafkatx.schemas.limits import MAX_REASONS
from kafkatx.schemas.places import below
from kafkatx.schemas.recursion import TooManySteps, Walk, run

_MOST_PASSES: Final = 10

_REFUTED: Final = "CIRCLE: the schemas refer to themselves, and do not fit each other"
"""The reason of a pair within itself; the pair has other reasons, too."""

_VALUES: Final[dict[Kind, Callable[[Shape, Shape], Iterator[str]]]] = {
    Kind.STRING: string_reasons,
    Kind.NUMBER: number_reasons,
    Kind.CONST: const_reasons,
    Kind.ENUM: enum_reasons,
    Kind.CONDITION: condition_reasons,
}
"""The comparisons of shapes that have no schemas within."""

_YES: Final = ("yes",)
"""The result of a question whose answer is yes."""

Key = tuple[int, int]


def incompatibilities(reader: Shape, writer: Shape) -> Reasons:
    """Return why data of *writer* may not fit *reader*, at most ``MAX_REASONS`` times.

    Schemas that refer to each other in a circle are compared again and again, each time with the pairs that
    were found incompatible before, until there is no new one: at first a pair within itself counts as
    compatible, which another pair may rely on.
    """
    refuted: set[Key] = set()
    patterns = Patterns()
    for _ in range(_MOST_PASSES):
        comparison = _Comparison(refuted, patterns)
        try:
            found = run(comparison.compare(writer, reader, ""))
        except TooManySteps:
            break
        now = comparison.refuted()
        if now <= refuted or not comparison.assumed:
            return [one for one in found if one != _REFUTED] or [*found[:1]]
        refuted |= now
    return ["the schemas are too large to compare"]


class _Comparison:
    """One pass.

    :ivar assumed: True if a pair within itself was taken for compatible.
    """

    def __init__(self, refuted: set[Key], patterns: Patterns) -> None:
        self.assumed = False
        self._refuted = refuted
        self._patterns = patterns
        self._trials = 0
        self._running: set[Key] = set()
        self._known: dict[Key, Reasons] = {}

    @property
    def _most(self) -> int:
        """The number of reasons that are enough: one is, where reasons are not told."""
        return 1 if self._trials else MAX_REASONS

    def refuted(self) -> set[Key]:
        """Return the pairs that are not compatible."""
        return {key for key, found in self._known.items() if found}

    def compare(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return the reasons for one pair of shapes."""
        if old.kind is Kind.NEVER or new.kind is Kind.ANY:
            return ()
        key = (id(old), id(new))
        if key in self._running:
            if key in self._refuted:
                return (_REFUTED,)
            self.assumed = True
            return ()
        if key not in self._known:
            self._running.add(key)
            self._known[key] = yield self._compute(old, new, where)
            self._running.discard(key)
        return self._known[key]

    def _compute(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        if old.kind is Kind.COMBINED and new.kind is Kind.COMBINED:
            return (yield self._combinations(old, new, where))
        if new.kind is Kind.COMBINED and (yield self._fits_a_member(old, new, where)):
            return ()
        if old.kind is Kind.COMBINED and (yield self._a_member_fits(old, new, where)):
            return ()
        if old.kind is not new.kind:
            both_bytes = all(shape.source.get("connect.type") == "bytes" for shape in (old, new))
            return () if both_bytes else (reason("TYPE_CHANGED", where),)
        return (yield self._same_kind(old, new, where))

    def _same_kind(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        if old.kind is Kind.OBJECT:
            return (yield object_reasons(self.compare, self._patterns, old, new, where, self._most))
        if old.kind is Kind.ARRAY:
            return (yield array_reasons(self.compare, old, new, where, self._most))
        if old.kind is Kind.NOT:
            return (yield self._negations(old, new, where))
        if old.kind in _VALUES:
            return [reason(name, where) for name in _VALUES[old.kind](old, new)]
        return ()

    def _negations(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return a reason unless what the new schema excludes was excluded before."""
        (before,), (now,) = old.distinct_members(), new.distinct_members()
        if not (yield self._fits(now, before, below(where, "not"))):
            return (reason("NOT_TYPE_EXTENDED", where),)
        return ()

    def _fits_a_member(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return a sign if *old* fits a combination of one, or a choice."""
        if new.criterion is Criterion.ALL and len(new.members) != 1:
            return ()
        for member in new.distinct_members():
            if (yield self._fits(old, member, where)):
                return _YES
        return ()

    def _a_member_fits(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return a sign if one of all schemas that data had to fit suffices."""
        if old.criterion is not Criterion.ALL and len(old.members) != 1:
            return ()
        for member in old.distinct_members():
            if (yield self._fits(member, new, where)):
                return _YES
        return ()

    def _fits(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return a sign if two shapes are compatible; the reasons are not told."""
        self._trials += 1
        found = yield self.compare(old, new, where)
        self._trials -= 1
        return () if found else _YES

    def _combinations(self, old: Shape, new: Shape, where: str) -> Walk[Reasons]:
        """Return the reasons of two combinations: their members must fit each other in pairs."""
        if not may_replace(old, new):
            return (reason("COMBINED_TYPE_CHANGED", where),)
        before, now = old.distinct_members(), new.distinct_members()
        change = size_change(old, new, len(before), len(now))
        if change:
            return (reason(change, where),)
        fits: list[list[int]] = []
        for index, member in enumerate(before):
            place = below(where, old.criterion.value, index)
            fits.append([])
            for number, other in enumerate(now):
                if (yield self._fits(member, other, place)):
                    fits[-1].append(number)
        if largest_match(fits) < min(len(before), len(now)):
            return (reason("COMBINED_TYPE_SUBSCHEMAS_CHANGED", where),)
        return ()
