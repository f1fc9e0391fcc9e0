"""The error of a filter that is not allowed."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError


class FilterError(KafkaTXError, ValueError):
    """A filter is no expression, or has something that is not allowed.

    :ivar line: the line of the fault, from 1 on.
    :ivar column: its column in characters, from 1 on.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"filter, line {line}, column {column}: {message}")
        self.line = line
        self.column = column
