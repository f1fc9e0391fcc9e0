"""The functions of filters."""

from __future__ import annotations

from kafkatx.views.filter import functions
from tests.views.filter import FilterCase


class FunctionTests(FilterCase):
    def test_functions(self) -> None:
        """Each function is called by its name, or after a dot."""
        self.assert_accepts(
            "len(key) == 8 and key.len() == 8 and len(value.order) == 2",
            "upper(key) == 'ORDER-17' and key.upper().lower() == key",
            "int(key[6:]) == 17 and float('2.5') == 2.5 and int('7') == offset and int(2.9) == 2",
            "str(offset) == '7' and str(value.order.lines[0]) == '{\"sku\":\"a\"}' and str(key) == key",
            "contains(key, 'der') and key.contains('der') and contains(value, 'status')",
            "value.order.lines.contains(value.order.lines[0])",
            "startswith(key, 'order') and key.endswith('17')",
        )
        self.assert_rejects(
            "exists(len(offset))",
            "exists(int('x'))",
            "exists(float('x'))",
            "exists(int(value))",
            "exists(upper(1))",
            "key.startswith(1)",
            "exists(int(1e400))",
        )

    def test_long_values(self) -> None:
        """A text that grows with each level of quotes is missing once it is too long."""
        nested = "key"
        for _ in range(4):
            nested = f"str([str([{nested}])])"
        self.assert_accepts(f"len({nested}) > 500")
        self.patch(functions, "MOST_CHARACTERS", 100)
        self.assert_rejects(f"len({nested}) > 100")
        self.assert_accepts("exists(str([key, key]))")
        self.patch(functions, "MOST_CHARACTERS", 10)
        self.assert_rejects("exists([key, key])", "exists(upper('longer than it may be'))")

    def test_matches(self) -> None:
        """A regular expression fits a part of a text, in any alphabet, and over lines."""
        self.assert_accepts(
            r"key.matches('\d+')",
            "matches(key, '^order-[0-9]{2}$')",
            "key.matches('(?i)ORDER')",
            "value.status.matches('^(paid|sent)$')",
            "matches('a\\nb größe 日本', 'b.*本')",
        )
        self.assert_rejects("key.matches('^17')", "matches(offset, '7')", "matches(value.nothing, 'a')")
        self.fails("matches(key, '(')", "RE2", 14)
        self.fails("matches(key, 'a)(b')", "RE2", 14)
        self.fails(r"key.matches('(a)\\1')", "RE2", 13)
        self.fails("matches(key, value)", "must be a text in quotes", 14)
        self.fails(f"matches(key, '{'a' * 201}')", "200", 14)

    def test_wrong_calls(self) -> None:
        """A wrong name or number of arguments is refused when the filter is compiled."""
        self.fails("size(key)", "there are len, lower", 1)
        self.fails("len()", "len takes 1 arguments, not 0", 1)
        self.fails("key.startswith()", "startswith takes 2", 1)
        self.fails("vale.a == 1", "did you mean value?", 1)
        self.fails("key == abc", "a text needs quotes", 8)
        self.fails("key[1:2, 3]", "one slice", 5)
