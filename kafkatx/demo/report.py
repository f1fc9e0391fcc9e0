"""The facts, drawn."""

from __future__ import annotations

from rich.bar import Bar
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafkatx.demo.facts import Facts
from kafkatx.names import printable

MAX_BARS = 96
BAR_WIDTH = 40
MAX_KEY = 60


def print_report(console: Console, title: str, facts: Facts) -> None:
    """Print a table of counts; below it, if lines have a time, a bar for each hour."""
    console.print(counts(title, facts))
    if facts.per_hour:
        console.print(hours(facts))


def counts(title: str, facts: Facts) -> Table:
    """Return a table with one row per fact."""
    table = Table(title=escape(printable(title)), show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("rows", f"{facts.rows:,}")
    table.add_row("distinct keys", f"{facts.keys:,}")
    for key, lines in facts.top_keys:
        table.add_row("", f"{escape(printable(key.decode(errors='backslashreplace')[:MAX_KEY]))}: {lines:,}")
    table.add_row("bytes", f"{facts.size_bytes:,}")
    table.add_row("lines with a time", f"{facts.dated_rows:,}")
    busiest = facts.busiest_hour
    if busiest is not None:
        table.add_row("busiest hour (UTC)", f"{busiest[0]:%Y-%m-%d %H:00}, {busiest[1]:,} lines")
    return table


def hours(facts: Facts) -> Table:
    """Return a table with a bar per hour; of very many hours the busiest, still in order of time."""
    shown = facts.per_hour
    title = "lines per hour (UTC)"
    if len(shown) > MAX_BARS:
        shown = tuple(sorted(sorted(shown, key=lambda hour: -hour[1])[:MAX_BARS]))
        title = f"lines per hour (UTC), the {MAX_BARS} busiest of {len(facts.per_hour):,} hours"
    most = max(lines for _, lines in shown)
    table = Table(title=title, show_header=False, box=None)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(width=BAR_WIDTH)
    for hour, lines in shown:
        table.add_row(f"{hour:%Y-%m-%d %H:00}", f"{lines:,}", Bar(most, 0, lines, width=BAR_WIDTH))
    return table
