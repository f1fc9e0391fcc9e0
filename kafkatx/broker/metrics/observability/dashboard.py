"""The dashboard of Grafana, ``etc/grafana/kafkatx.json``. Pure."""

from __future__ import annotations

import json
from typing import Any

from kafkatx.broker.metrics.observability.panels import ROWS, Panel
from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o

WIDTH = 24
"""Columns of Grafana's grid."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard_page() -> str:
    """Return the dashboard in JSON."""
    return json.dumps(dashboard(), indent=1) + "\n"


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    return {
        "uid": "kafkatx",
        "title": "kafkatx",
        "tags": ["kafka", "kafkatx"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                _variable("broker", "Broker", f"label_values({o.INFO.name}, instance)"),
                _variable("topic", "Topic", f"label_values({k.MESSAGES_IN.name}, topic)"),
                _variable("group", "Group", f"label_values({e.GROUP_MEMBERS.name}, consumergroup)"),
            ]
        },
        "panels": _panels(),
    }


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    top = 0
    for title, panels in ROWS:
        made.append(
            {"type": "row", "title": title, "collapsed": False, "panels": [], **_at(0, top, WIDTH, 1)}
        )
        top += 1
        left = 0
        for panel in panels:
            width, height = (3, 4) if panel.stat else (8, 8)
            if left + width > WIDTH:
                left, top = 0, top + height
            made.append(_panel(panel) | _at(left, top, width, height))
            left += width
        top += height
    return [{"id": number, **one} for number, one in enumerate(made, 1)]


def _at(left: int, top: int, width: int, height: int) -> dict[str, Any]:
    return {"gridPos": {"x": left, "y": top, "w": width, "h": height}}


def _panel(panel: Panel) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "stat" if panel.stat else "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": query, "legendFormat": name}
            for number, (query, name) in enumerate(panel.queries)
        ],
    }
    if panel.text:
        made["description"] = panel.text
    return made
