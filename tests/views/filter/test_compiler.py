"""Filters: what they accept, and attacks on them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkatx.group.consumer.subscription.expression import ExpressionError
from kafkatx.views.filter.compiler import Filter
from kafkatx.views.filter.errors import FilterError
from kafkatx.views.filter.functions import FUNCTIONS
from tests.views.filter import FilterCase, Record

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


LEAVES = ["key", "value", "value.a", "value[0]", "value.b.c", "offset", "1", "2.5", "'a'", "null", "key[1:]"]
FORMS = [
    *(f"({{}} {sign} {{}})" for sign in ("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=")),
    *("({} in {})", "({} and {})", "({} or {})", "({} not in {})", "[{}, {}]", "{}[{}]", "contains({}, {})"),
    *("startswith({}, {})", "endswith({}, {})", "len({1})", "lower({1})", "upper({1})", "int({1})"),
    *("float({1})", "str({1})", "exists({1})", "(not {1})", "(-{1})", "matches({1}, 'a')", "{}[{}:]"),
]


def expression(source: random.Random, leaves: Sequence[str], forms: Sequence[str], depth: int) -> str:
    """Return a random expression."""
    if not depth or not source.randrange(4):
        return source.choice(leaves)
    parts = [expression(source, leaves, forms, depth - 1) for _ in range(2)]
    return source.choice(forms).format(*parts)


SLOW = [HealthCheck.too_slow]


class AttackTests(FilterCase):
    def test_explosion(self) -> None:
        """Expressions that take years in Python's own engine take none here."""
        record = Record(key="a" * 5000)
        for pattern in ("(a+)+$", "(a|a)*b", "(a*)*c", "([a-z]+)*1", "^(a?){50}a{50}$"):
            self.assertIn(self.accepts(f"key.matches('{pattern}')", record), (True, False))

    def test_too_much_work(self) -> None:
        """An expression that takes too much for one text is an error of that record, and not of the next."""
        filtering = Filter("key.matches('(a?b?c?){15}(a|b|c){15}[^x]{15}d')")
        hard = Record(key="abcabdacb" * 300)
        with contextlib.suppress(ExpressionError):
            filtering.accepts(hard)
        self.assertFalse(filtering.accepts(Record(key="x")))

    def test_large_patterns(self) -> None:
        """Regular expressions are few and small: compiling them takes no time to speak of."""
        for pattern in ("(((((a|b)?){9})?){9}){9}", "(a{90}){99}", "[a-z]{1000}"):
            self.fails(f"matches(key, '{pattern}')", "too large", 14)
        many = " or ".join(["matches(key, 'a')"] * 6)
        self.assertIn("more than 5", str(self.assertRaises(FilterError, Filter, many)))

    def test_huge(self) -> None:
        """Huge constants and numbers stay small: nothing multiplies or joins texts."""
        for text in ("'a' * 10 ** 9", "10 ** 10 ** 10 > 1", "'a' * 1000000000 == key"):
            self.assertRaises(FilterError, Filter, text)
        huge = Record(value={"n": 10**5000})
        for text in ("value.n * value.n", "value.n > 1", "-value.n", "value.n % 7", "float(value.n)"):
            self.assertFalse(self.accepts(f"exists({text}) and {text} != false", huge), text)
        self.assertRaises(FilterError, Filter, "1" * 5000)
        self.assertRaises(FilterError, Filter, f"key == {'9' * 1900} ** 2")

    def test_growth(self) -> None:
        """Numbers cannot grow without bounds by repeated multiplication."""
        product = " * ".join(["value.n"] * 15)
        self.assertFalse(self.accepts(f"exists({product})", Record(value={"n": 2**4000})))

    @settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
    @given(JSON, JSON, st.integers(0, 2**32))
    def test_any_filter(self, value: object, other: object, seed: int) -> None:
        """No filter of what is allowed fails for any value: all operators and functions are total."""
        text = expression(random.Random(seed), LEAVES, FORMS, 4)
        try:
            filtering = Filter(text)
        except FilterError:
            return  # a text that would be calculated with
        self.assertIn(filtering.accepts(Record(key=other, value=value)), (True, False))

    @settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
    @given(st.integers(0, 2**32))
    def test_like_python(self, seed: int) -> None:
        """Numbers are calculated with, compared and joined as in Python."""
        source = random.Random(seed)
        numbers = ["offset", "partition", "3", "0.5"]
        sums = [expression(source, numbers, ["({} + {})", "({} - {})", "({} * {})"], 2) for _ in range(6)]
        comparisons = ["({} < {})", "({} <= {})", "({} > {})", "({} >= {})", "({} == {})", "({} != {})"]
        leaves = [expression(source, sums, comparisons, 1) for _ in range(4)]
        text = expression(source, leaves, ["({} and {})", "({} or {})", "(not {1})"], 3)
        expected = bool(eval(text, {"offset": 7, "partition": 2}))
        try:
            filtering = Filter(text)
        except FilterError:
            return  # it has too many parts
        self.assertEqual(filtering.accepts(Record()), expected, text)


class NamesTests(FilterCase):
    def test_names(self) -> None:
        """A filter tells which values it needs."""
        self.assertEqual(Filter("offset > 1 and partition == 2").names, {"offset", "partition"})
        self.assertEqual(Filter("value.key == 'headers'").names, {"value"})

    def test_documented(self) -> None:
        """The examples in the documentation are filters."""
        page = Path(__file__).parents[3] / "docs" / "console-messages.md"
        text = page.read_text("utf-8")
        table = text[text.index("| filter | finds |") :].partition("\n\n")[0]
        rows = table.splitlines()[2:]
        self.assertGreater(len(rows), 10)
        for row in rows:
            Filter(row.split("`")[1])
        for name in FUNCTIONS:
            self.assertIn(f"{name}(x", text)
