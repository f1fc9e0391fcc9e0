"""Numbers on the command line."""

from __future__ import annotations

import math

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
