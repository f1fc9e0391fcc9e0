"""The syntax of filters: Python's expressions, of which little is allowed.

A filter is parsed by Python's own parser and never run as Python: the tree is checked here, and compiled to
functions that know nothing but the values of a record. Allowed are

*   the names ``key value headers offset partition timestamp``;
*   texts, numbers, ``True False None``, also written ``true false null``; lists of expressions, for ``in``;
*   ``and or not``, ``== != < <= > >=``, ``in``, ``not in``, ``is None``, ``is not None``;
*   ``+ - * / // %`` between numbers;
*   ``value.field``, ``value["field"]``, ``value[0]``, ``key[:3]``: look-ups, never attributes of Python;
*   calls of the functions in :mod:`~kafkatx.views.filter.functions`, ``f(x, y)`` or ``x.f(y)``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final

from kafkatx.views.filter.errors import FilterError

MOST_CHARACTERS: Final = 2000
MOST_NODES: Final = 200
MOST_DEPTH: Final = 20

NAMES: Final = ("key", "value", "headers", "offset", "partition", "timestamp")
CONSTANTS: Final = {"true": True, "false": False, "null": None}
"""Names of JSON for Python's constants."""

_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS: Final = (
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    *(ast.In, ast.NotIn, ast.Is, ast.IsNot),
)
_PLAIN: Final = (
    ast.BoolOp,
    ast.Compare,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.List,
    ast.Tuple,
    ast.Name,
)
_FOREIGN: Final = {
    ast.Lambda: "lambda",
    ast.IfExp: "if ... else",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: ":=",
    ast.Starred: "*",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "& (use and)",
    ast.BitOr: "| (use or)",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Invert: "~ (use not)",
}
_HINTS: Final = {
    "=": "one = is no comparison: use ==",
    "&": "use and, not &&",
    "|": "use or, not ||",
    "!": "use not, not !",
}
ALLOWED: Final = (
    f"allowed are the names {', '.join(NAMES)}, texts, numbers, comparisons, in, and, or, not, + - * / // %"
    " between numbers, look-ups such as value.field, value['field'] and value[0], and calls of functions"
)


def parse(text: str) -> ast.expr:
    """Parse a filter, and check that it has nothing but what is allowed, except for names of functions.

    :raises FilterError: it is no expression, is too long or too deep, or has something else.
    """
    if len(text) > MOST_CHARACTERS:
        raise FilterError(f"it has {len(text)} characters; {MOST_CHARACTERS} are allowed")
    if not text.strip():
        raise FilterError("it is empty")
    tree = _parsed(text)
    for nodes, (node, depth, at) in enumerate(_walk(tree), 1):
        if depth > MOST_DEPTH:
            raise fault(at, f"it is nested more than {MOST_DEPTH} levels deep")
        if nodes > MOST_NODES:
            raise fault(at, f"it has more than {MOST_NODES} parts")
        _check(node, at)
    return tree


def fault(node: ast.expr, message: str) -> FilterError:
    """Return the error about a part of a filter."""
    return FilterError(message, node.lineno, node.col_offset + 1)


def _parsed(text: str) -> ast.expr:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    wrapped, shift = text.strip(), len(text) - len(text.lstrip())
    if "\n" in wrapped:  # a line break ends an expression that is not in brackets
        wrapped, shift = f"({text}\n)", -1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a text is a warning
            tree = ast.parse(wrapped, mode="eval").body
    except SyntaxError as error:
        raise _unreadable(wrapped, shift, error) from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise FilterError(f"it cannot be read: {error or 'it is nested too deeply'}") from None
    _place(tree, wrapped.split("\n"), shift)
    return tree


def _unreadable(wrapped: str, shift: int, error: SyntaxError) -> FilterError:
    """Return the error about text that is no expression."""
    lines = wrapped.split("\n")
    line = min(error.lineno or 1, len(lines))
    offset = error.offset or len(lines[line - 1]) + 1  # 0 is the end
    message = _HINTS.get(lines[line - 1][offset - 1 : offset], error.msg)
    column = max(1, offset + (shift if line == 1 else 0))
    return FilterError(f"{message}; {ALLOWED}", line, column)


def _place(tree: ast.expr, lines: list[str], shift: int) -> None:
    """Change columns from bytes of UTF-8 to characters of the filter as it was given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            before = lines[node.lineno - 1].encode()[: node.col_offset].decode("utf-8", "ignore")
            node.col_offset = max(0, len(before) + (shift if node.lineno == 1 else 0))


def _walk(tree: ast.expr) -> Iterator[tuple[ast.AST, int, ast.expr]]:
    """Yield all nodes, with their depth, and themselves or the nearest one around them that has a place."""
    todo: list[tuple[ast.AST, int, ast.expr]] = [(tree, 1, tree)]
    while todo:
        node, depth, around = todo.pop()
        at = node if isinstance(node, ast.expr) else around
        if isinstance(node, (ast.expr_context, ast.boolop)):
            continue
        yield node, depth, at
        todo += [(child, depth + isinstance(node, ast.expr), at) for child in ast.iter_child_nodes(node)]


def _check(node: ast.AST, at: ast.expr) -> None:
    """Check a node by itself.

    :raises FilterError: it is not allowed.
    """
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, (str, int, float, type(None))):
            raise fault(at, f"{type(node.value).__name__} is no kind of value here; {ALLOWED}")
    elif isinstance(node, ast.Slice):
        if node.step is not None:
            raise fault(at, "a slice has a beginning and an end, and no step")
    elif isinstance(node, ast.UnaryOp):
        pass  # its operator is a node, too
    elif isinstance(node, ast.BinOp):
        if not isinstance(node.op, _OPERATORS):
            raise fault(at, f"{_FOREIGN[type(node.op)]} is not allowed; {ALLOWED}")
    elif isinstance(node, ast.keyword):
        raise fault(at, "a function takes its arguments by place, not by name")
    elif isinstance(node, (ast.Is, ast.IsNot)):
        _check_is(at)
    elif not isinstance(node, (*_PLAIN, *_OPERATORS, *_COMPARISONS, ast.Not, ast.USub, ast.UAdd)):
        what = _FOREIGN.get(type(node), type(node).__name__)
        raise fault(at, f"{what} is not allowed; {ALLOWED}")


def _check_is(at: ast.expr) -> None:
    assert isinstance(at, ast.Compare)
    for operator, right in zip(at.ops, at.comparators, strict=True):
        if isinstance(operator, (ast.Is, ast.IsNot)) and not _is_none(right):
            raise fault(right, "after is and is not comes None; use == for other values")


def _is_none(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "null"
    return isinstance(node, ast.Constant) and node.value is None
