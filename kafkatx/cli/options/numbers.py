"""Numbers on the command line."""

from __future__ import annotations

import math
import re

import click


class FiniteRange(click.FloatRange):
    """A number within bounds; unlike click's own type it refuses ``nan`` and ``inf``."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        :raises click.BadParameter: it is not a finite number within the bounds.
        """
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


_RATE = re.compile(r"([0-9]{1,15})([kMG]?)B?(/s)?")
_UNITS = {"": 1, "k": 1000, "M": 1000_000, "G": 1000_000_000}


def parse_bytes_per_s(
    context: click.Context | None, option: click.Parameter | None, text: str | None
) -> int | None:
    """Return the bytes per second of ``50M``, ``800k``, ``1G``, or of a plain number; None for None.

    :raises click.BadParameter: it is not one of these, or 0.
    """
    if text is None:
        return None
    match = _RATE.fullmatch(text)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{text}: give bytes per second, for instance 50M", context, option)
    return int(match[1]) * _UNITS[match[2]]
