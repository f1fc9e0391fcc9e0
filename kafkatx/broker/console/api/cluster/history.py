"""``/history``: samples of this broker over the last week, for charts."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.lists import number
from kafkatx.broker.console.errors import ConsoleError, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.broker.history.series import ROWS, find_series
from kafkatx.web.calls import Call

MOST_SERIES, MOST_POINTS, POINTS = 20, 1000, 300
HOUR_MS = 3_600_000
LATEST_MS = 2**53


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker, recorder = parts.broker, parts.recorder

    def sees(call: Call, name: str) -> bool:
        kind, _, named = name.partition(":")
        if not named:
            return True
        resource = ResourceType.GROUP if kind == "lag" else ResourceType.TOPIC
        return parts.sees(call, AclOperation.DESCRIBE, resource, named)

    def series(call: Call) -> object:
        parts.guard.check(call)
        rows = [{"name": row.name, "unit": row.unit, "title": row.title} for row in ROWS]
        for name in recorder.history.names():
            row = find_series(name)
            if ":" in name and row is not None and sees(call, name):
                title = f"{row.title}: {name.partition(':')[2]}"
                rows.append({"name": name, "unit": row.unit, "title": title})
        return {"series": rows}

    def history(call: Call) -> object:
        parts.guard.check(call)
        names = list(dict.fromkeys(filter(None, _names(call))))
        if not 0 < len(names) <= MOST_SERIES:
            raise invalid(f"series: name 1 to {MOST_SERIES}")
        for name in names:
            if find_series(name) is None:
                raise ConsoleError(
                    404, "NOT_FOUND", f"there is no series {name[:100]!r}: see /history/series"
                )
        now_ms = broker.now_ms()
        to_ms = number(call, "toMs", now_ms, 0, LATEST_MS)
        from_ms = number(call, "fromMs", max(0, to_ms - HOUR_MS), 0, LATEST_MS)
        points = number(call, "points", POINTS, 1, MOST_POINTS)
        seen = [name for name in names if sees(call, name)]
        found = recorder.history.read(seen, from_ms, min(to_ms, now_ms), points)
        empty = [None] * len(found.times_ms)
        values = {name: found.series.get(name, empty) for name in names}
        return {"stepMs": found.step_ms, "timesMs": found.times_ms, "series": values}

    query = {
        "series": "names, separated by commas; or the parameter once for each name with commas",
        "fromMs": "the begin, in ms since 1970; an hour before the end by default",
        "toMs": "the end; now by default",
        "points": f"values of each series at most, up to {MOST_POINTS}",
    }
    return [
        Route("GET", "/history", history, "Tell samples of this broker over time", query),
        Route("GET", "/history/series", series, "List the series that this broker samples"),
    ]


def _names(call: Call) -> Sequence[str]:
    given = call.query.get("series", ())
    return given[0].split(",") if len(given) == 1 else given
