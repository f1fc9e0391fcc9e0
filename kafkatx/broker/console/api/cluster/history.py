"""``/history``: samples of the cluster or of one broker over the last week, for charts."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.lists import number
from kafkatx.broker.console.errors import ConsoleError, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.broker.history.history import MOST_POINTS, MOST_SERIES, plan_window
from kafkatx.broker.history.series import ROWS, find_series
from kafkatx.broker.history.total import join_columns
from kafkatx.web.calls import Call

POINTS = 300
HOUR_MS = 3_600_000
LATEST_MS, MOST_ID = 2**53, 2**31 - 1


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    def sees(call: Call, name: str) -> bool:
        kind, _, named = name.partition(":")
        if not named:
            return True
        resource = ResourceType.GROUP if kind == "lag" else ResourceType.TOPIC
        return parts.sees(call, AclOperation.DESCRIBE, resource, named)

    def series(call: Call) -> object:
        parts.guard.check(call)
        rows = [{"name": row.name, "unit": row.unit, "title": row.title} for row in ROWS]
        for name in broker.samples.history.names():
            row = find_series(name)
            if ":" in name and row is not None and sees(call, name):
                title = f"{row.title}: {name.partition(':')[2]}"
                rows.append({"name": name, "unit": row.unit, "title": title})
        return {"series": rows}

    async def history(call: Call) -> object:
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
        only = number(call, "broker", 0, 0, MOST_ID) if call.text("broker") else None
        window = plan_window(names, from_ms, to_ms, points, now_ms)
        seen = [name for name in names if sees(call, name)]
        told = await parts.cluster.samples.over_time(seen, window, only)
        columns = {name: join_columns(name, [one[name] for one in told.values()]) for name in seen if told}
        count = max(map(_known_count, columns.values()), default=0)
        values = {
            name: [*map(_known, columns[name][:count])] if name in columns else [None] * count
            for name in names
        }
        wanted = broker.metadata.state.brokers if only is None else (only,)
        return {
            "stepMs": window.step_ms,
            "timesMs": window.times_ms[:count],
            "series": values,
            "brokers": sorted(told),
            "missing": sorted(set(wanted) - set(told)),
        }

    query = {
        "series": "names, separated by commas; or the parameter once for each name with commas",
        "fromMs": "the begin, in ms since 1970; an hour before the end by default",
        "toMs": "the end; now by default",
        "points": f"values of each series at most, up to {MOST_POINTS}",
        "broker": "the id of the broker; all of the cluster together by default",
    }
    return [
        Route("GET", "/history", history, "Tell samples of the cluster, or of a broker, over time", query),
        Route("GET", "/history/series", series, "List the series that brokers sample"),
    ]


def _names(call: Call) -> Sequence[str]:
    given = call.query.get("series", ())
    return given[0].split(",") if len(given) == 1 else given


def _known(value: float) -> float | None:
    return None if isnan(value) else round(value, 3)


def _known_count(column: Sequence[float]) -> int:
    """Return the number of values up to the last one that is known: the newest interval has not ended."""
    count = len(column)
    while count and isnan(column[count - 1]):
        count -= 1
    return count
