"""A finding of the doctor. Values only."""

from __future__ import annotations

import enum

import attrs


class Level(enum.IntEnum):
    """The weight of a finding."""

    OK = 0
    HINT = 1
    """Something to know; it does not change the exit code."""
    WRONG = 2


@attrs.frozen
class Finding:
    """The result of a check.

    :ivar check: the name of the check, as docs/doctor.md has it.
    :ivar sentence: the state of the thing that was checked.
    :ivar fix: a remedy; empty if none is needed.
    """

    check: str
    level: Level
    sentence: str
    fix: str = ""


def ok(check: str, sentence: str) -> Finding:
    """Return a finding that nothing is wrong."""
    return Finding(check, Level.OK, sentence)


def hint(check: str, sentence: str, fix: str) -> Finding:
    """Return a hint."""
    return Finding(check, Level.HINT, sentence, fix)


def wrong(check: str, sentence: str, fix: str) -> Finding:
    """Return a fault."""
    return Finding(check, Level.WRONG, sentence, fix)
