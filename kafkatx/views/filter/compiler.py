"""The compiler of filters: from a syntax tree to nested functions. Nothing is evaluated by Python itself."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from operator import attrgetter
from typing import Final, Protocol, TypeAlias

from kafkatx.group.consumer.subscription.expression import ExpressionError
from kafkatx.views.filter.functions import FUNCTIONS, MATCHES, bounded
from kafkatx.views.filter.operators import (
    CALCULATIONS,
    COMPARISONS,
    as_number,
    cut,
    look_up,
    negated,
)
from kafkatx.views.filter.patterns import Pattern
from kafkatx.views.filter.syntax import CONSTANTS, NAMES, fault, parse


class Fields(Protocol):
    """The values of a record that a filter sees; they may be made when they are asked for."""

    @property
    def key(self) -> object:
        """The decoded key."""

    @property
    def value(self) -> object:
        """The decoded value."""

    @property
    def headers(self) -> object:
        """The last value of each header, by name."""

    @property
    def offset(self) -> int:
        """The offset."""

    @property
    def partition(self) -> int:
        """The partition."""

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970."""


_Evaluate: TypeAlias = Callable[[Fields], object]

MOST_PATTERNS: Final = 5
"""Regular expressions in one filter."""

CONTENTS: Final = frozenset({"key", "value", "headers"})
"""The names whose values are contents of messages."""


class Filter:
    """A compiled filter.

    :ivar names: the names in it.
    :raises FilterError: see :func:`~kafkatx.views.filter.syntax.parse`.
    """

    def __init__(self, text: str) -> None:
        compiler = _Compiler()
        self._evaluate = compiler.compiled(parse(text))
        self.names = frozenset(compiler.names)

    def accepts(self, record: Fields) -> bool:
        """Return True for a record that fits.

        :raises Exception: of any kind, if values are nested too deeply or an expression takes too much work.
        """
        return bool(self._evaluate(record))


class _Compiler:
    """Makes functions of nodes, which :func:`parse` has checked.

    :ivar names: the names that were met.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._patterns = 0

    def compiled(self, node: ast.expr) -> _Evaluate:
        """Return a function that evaluates a node."""
        make: Callable[[ast.expr], _Evaluate] = getattr(self, f"_{type(node).__name__.lower()}")
        return make(node)

    def _constant(self, node: ast.Constant) -> _Evaluate:
        value = node.value
        return lambda record: value

    def _name(self, node: ast.Name) -> _Evaluate:
        if node.id in CONSTANTS:
            value = CONSTANTS[node.id]
            return lambda record: value
        if node.id not in NAMES:
            near = difflib.get_close_matches(node.id, (*NAMES, *FUNCTIONS), 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise fault(
                node,
                f"there is no name {node.id!r}; {meant}There are {', '.join(NAMES)}; a text needs quotes",
            )
        self.names.add(node.id)
        return attrgetter(node.id)

    def _list(self, node: ast.List | ast.Tuple) -> _Evaluate:
        items = [self.compiled(each) for each in node.elts]
        return lambda record: bounded([item(record) for item in items])

    _tuple = _list

    def _boolop(self, node: ast.BoolOp) -> _Evaluate:
        first, *others = map(self.compiled, node.values)
        goes_on = isinstance(node.op, ast.And)

        def evaluate(record: Fields) -> object:
            found = first(record)
            for each in others:
                if bool(found) is not goes_on:
                    break
                found = each(record)
            return found

        return evaluate

    def _unaryop(self, node: ast.UnaryOp) -> _Evaluate:
        operand = self.compiled(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda record: not operand(record)
        change = negated if isinstance(node.op, ast.USub) else as_number
        return lambda record: change(operand(record))

    def _binop(self, node: ast.BinOp) -> _Evaluate:
        left, right = self.compiled(node.left), self.compiled(node.right)
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                raise fault(side, "numbers can be calculated with, texts cannot")
        calculate = CALCULATIONS[type(node.op).__name__]
        return lambda record: calculate(left(record), right(record))

    def _compare(self, node: ast.Compare) -> _Evaluate:
        first = self.compiled(node.left)
        others = [
            (COMPARISONS[type(operator).__name__], self.compiled(right))
            for operator, right in zip(node.ops, node.comparators, strict=True)
        ]
        if len(others) == 1:
            compare, second = others[0]
            return lambda record: compare(first(record), second(record))

        def evaluate(record: Fields) -> bool:
            left = first(record)
            for compare, each in others:
                right = each(record)
                if not compare(left, right):
                    return False
                left = right
            return True

        return evaluate

    # --- look-ups and calls

    def _attribute(self, node: ast.Attribute) -> _Evaluate:
        container, name = self.compiled(node.value), node.attr
        return lambda record: look_up(container(record), name)

    def _subscript(self, node: ast.Subscript) -> _Evaluate:
        container = self.compiled(node.value)
        if isinstance(node.slice, ast.Slice):
            start, end = (
                _nothing if bound is None else self.compiled(bound)
                for bound in (node.slice.lower, node.slice.upper)
            )
            return lambda record: cut(container(record), start(record), end(record))
        index = self.compiled(node.slice)
        return lambda record: look_up(container(record), index(record))

    def _slice(self, node: ast.expr) -> _Evaluate:
        raise fault(node, "one slice at a time")

    def _call(self, node: ast.Call) -> _Evaluate:
        given = list(node.args)
        if isinstance(node.func, ast.Attribute):
            name, given = node.func.attr, [node.func.value, *given]
        else:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
        function = FUNCTIONS.get(name)
        if function is None:
            raise fault(node, f"there is no function {name!r}; there are {', '.join(FUNCTIONS)}")
        if len(given) != function.takes:
            raise fault(node, f"{name} takes {function.takes} arguments, not {len(given)}")
        if name == MATCHES:
            return self._matches(given[0], given[1])
        call, arguments = function.call, [self.compiled(each) for each in given]
        if len(arguments) == 1:
            only = arguments[0]
            return lambda record: call(only(record))
        left, right = arguments
        return lambda record: call(left(record), right(record))

    def _matches(self, subject: ast.expr, pattern: ast.expr) -> _Evaluate:
        if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)):
            raise fault(pattern, "the regular expression of matches must be a text in quotes")
        self._patterns += 1
        if self._patterns > MOST_PATTERNS:
            raise fault(pattern, f"it has more than {MOST_PATTERNS} regular expressions")
        try:
            fits = Pattern(pattern.value).fits
        except ExpressionError as error:
            raise fault(pattern, f"no regular expression (RE2's syntax): {error}") from None
        value = self.compiled(subject)
        return lambda record: fits(value(record))


def _nothing(record: Fields) -> None:
    return None
