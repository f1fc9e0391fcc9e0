"""The description of the API (OpenAPI 3.1), made of the table of its routes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import kafkatx
from kafkatx.broker.console.route import API, Route

_ERROR = {
    "description": "an error: its code, and what happened, to what, and what to do",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {
                        "type": "object",
                        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                        "required": ["code", "message"],
                    }
                },
            }
        }
    },
}


def describe(routes: Sequence[Route]) -> Mapping[str, object]:
    """Return the document."""
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.pattern, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kafkatx console", "version": kafkatx.__version__},
        "servers": [{"url": "/" + "/".join(API)}],
        "paths": paths,
    }


def _operation(route: Route) -> Mapping[str, object]:
    operation: dict[str, object] = {
        "summary": route.summary,
        "parameters": list(_parameters(route)),
        "responses": {"200": {"description": "done"}, "default": _ERROR},
    }
    if route.body:
        properties = {name: {"description": text} for name, text in route.body.items()}
        schema = {"type": "object", "properties": properties}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _parameters(route: Route) -> Iterator[Mapping[str, object]]:
    for part in route.pattern.split("/"):
        if part.startswith("{"):
            yield {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
    for name, text in route.query.items():
        yield {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
    if route.method != "GET":
        yield {"name": "X-Kafkatx-Console", "in": "header", "required": True, "schema": {"const": "1"}}
