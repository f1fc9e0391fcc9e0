"""Numbers and names as sentences have them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NAMED = 3


def seconds(milliseconds: float) -> str:
    """Return a duration in words."""
    if milliseconds < 10_000:
        return f"{milliseconds / 1000:.3g} s"
    whole = round(milliseconds / 1000)
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"


def number(value: float) -> str:
    """Return a number with commas; a fraction keeps three digits."""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def named(names: Iterable[object]) -> str:
    """Return the first names, and how many there are besides."""
    every: Sequence[str] = [str(name) for name in names]
    more = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {more} more" if more > 0 else "")


def evidence(**values: object) -> tuple[tuple[str, str], ...]:
    """Return names and values; floats keep six digits."""
    return tuple(
        (name, f"{value:.6g}" if isinstance(value, float) else str(value)) for name, value in values.items()
    )
