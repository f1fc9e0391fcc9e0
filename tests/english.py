"""The rules for plain English in docstrings and help texts: ``python -m tests.english kafkatx/log``.

Without an argument the whole package is checked. ``tests.test_english`` keeps it so.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

#: A docstring or a help text that opens so has something other than its subject first.
ROOT = Path(__file__).parent.parent

RELAXED = {"tests", "benchmarks", "docs"}
"""Folders whose functions need no imperative."""

_QUESTION_WORDS = """
    As Have How If Let Of So That What Whatever When Where Wherever Whether Which Who Whoever Whom Whose Why
"""
OPENERS = frozenset(_QUESTION_WORDS.split())

#: A function's first line is an imperative ("Return the offset"), so it opens with none of these either.
_NOUN_PHRASES = """
    A About After All An Another Anybody At Before By Each Every Everybody Everything For From He In It Its
    No Nobody None Nothing On One Several Some Somebody Something The There These They This Those To Two
    Under Until While With Within Without
"""
NO_VERBS = frozenset(_NOUN_PHRASES.split())

#: Words that hide their subject, wherever they stand.
RIDDLES = re.compile(r"\b(whoever|whomever|whosoever|somebody|nobody|anybody|everybody)\b", re.IGNORECASE)

_WORD = re.compile(r"[A-Za-z]+")


def check_file(path: Path) -> Iterator[str]:
    """Yield one line for each place in a Python file that breaks a rule: ``path:line: reason``."""
    text = path.read_text(encoding="utf-8")
    strict = not any(ROOT / folder in path.resolve().parents for folder in RELAXED)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                line = node.body[0].lineno
                imperative = strict and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                for reason in _docstring_faults(docstring, imperative=imperative and not _is_property(node)):
                    yield f"{path}:{line}: {reason}"
        elif isinstance(node, ast.keyword) and node.arg == "help":
            opener = _opener(_literal(node.value))
            if opener in OPENERS:
                yield f"{path}:{node.value.lineno}: the help text opens with {opener!r}"
    if not RIDDLES.search(text):
        return  # most files: to split them into tokens takes long
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (found := RIDDLES.search(token.string)):
            yield f"{path}:{token.start[0]}: the comment says {found[0]!r}"


def check_tree(paths: list[Path]) -> Iterator[str]:
    """Yield the faults of all Python files below *paths*, sorted by path."""
    for root in paths:
        for path in sorted([root] if root.is_file() else root.rglob("*.py")):
            yield from check_file(path)


def _docstring_faults(docstring: str, *, imperative: bool) -> Iterator[str]:
    opener = _opener(docstring)
    if opener in OPENERS:
        yield f"the docstring opens with {opener!r}"
    elif imperative and opener in NO_VERBS:
        yield f"a function's docstring opens with {opener!r}, not with an imperative"
    if found := RIDDLES.search(docstring):
        yield f"the docstring says {found[0]!r}"


def _is_property(node: ast.AST) -> bool:
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    names = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any("property" in name or name.endswith((".setter", ".fixture", "fixture()")) for name in names)


def _opener(text: str) -> str:
    found = _WORD.match(text)
    return found[0] if found else ""


def _literal(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    faults = list(check_tree([Path(name) for name in sys.argv[1:]] or [Path("kafkatx")]))
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.stdout.write(f"{len(faults)} faults\n")
