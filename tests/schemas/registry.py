"""A small schema registry in memory, for tests of its clients: a function from a request to a reply.

It checks no compatibility and parses no schema.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kafkatx.schemas.types import Schema, SchemaType

Reply = tuple[int, Any]


class MemoryRegistry:
    """Schemas by id, and versions of subjects.

    :ivar requests: (method, path) of each request.
    :ivar down: answer all requests with 503.
    :ivar refused: reasons why a subject accepts no other schema, by subject.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.down = False
        self.refused: dict[str, str] = {}
        self.levels: dict[str, str] = {}
        self._schemas: list[dict[str, Any]] = []
        self._subjects: dict[str, dict[int, int]] = {}

    def add(self, subject: str, text: str, kind: SchemaType = SchemaType.AVRO, *references: Any) -> int:
        """Register a schema; return its id."""
        listed = [{"name": name, "subject": other, "version": version} for name, other, version in references]
        status, found = self._register(
            subject, {"schema": text, "schemaType": kind.value, "references": listed}
        )
        assert status == 200, found
        return int(found["id"])

    def schema(self, schema_id: int) -> Schema:
        """Return a schema."""
        found = self._schemas[schema_id - 1]
        return Schema(found["schema"], SchemaType[found.get("schemaType", "AVRO")])

    def guid(self, schema_id: int) -> str:
        """Return the GUID of a schema."""
        return str(self._schemas[schema_id - 1]["guid"])

    def answer(self, method: str, target: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return the status and body of a reply."""
        self.requests.append((method, target))
        if self.down:
            return 503, b'{"error_code": 50003, "message": "down"}'
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        given = json.loads(body) if body else {}
        status, found = self._route(method, path, given, query)
        return status, json.dumps(found).encode()

    def _route(self, method: str, path: list[str], given: Any, query: dict[str, str]) -> Reply:
        match method, path:
            case "GET", ["schemas", "types"]:
                return 200, list(SchemaType.__members__)
            case "GET", ["schemas", "ids", number]:
                return self._by(lambda each: each["id"] == int(number), 40403)
            case "GET", ["schemas", "guids", guid]:
                return self._by(lambda each: each["guid"] == guid, 40403)
            case "POST", ["subjects", subject, "versions"]:
                return self._register(subject, given)
            case "POST", ["subjects", subject]:
                return self._look_up(subject, given)
            case "GET", ["subjects"]:
                return 200, sorted(name for name in self._subjects if self._subjects[name])
            case "GET", ["subjects", subject, "versions"]:
                return (200, list(self._subjects[subject])) if subject in self._subjects else _missing(40401)
            case "GET", ["subjects", subject, "versions", version]:
                return self._version(subject, version)
            case "DELETE", ["subjects", subject]:
                versions = self._subjects.pop(subject, None)
                return _missing(40401) if versions is None else (200, list(versions))
            case "DELETE", ["subjects", subject, "versions", version]:
                status, found = self._version(subject, version)
                if status == 200:
                    del self._subjects[subject][found["version"]]
                return (200, found["version"]) if status == 200 else (status, found)
            case "POST", ["compatibility", "subjects", subject, *_]:
                why = self.refused.get(subject)
                return 200, {"is_compatible": why is None, "messages": [] if why is None else [why]}
            case _, ["config", *subject]:
                return self._config(method, "".join(subject), given)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _config(self, method: str, subject: str, given: Any) -> Reply:
        if method == "PUT":
            self.levels[subject] = given["compatibility"]
            return 200, given
        level = self.levels.pop(subject, None) if method == "DELETE" else self.levels.get(subject)
        return 200, {"compatibilityLevel": level or self.levels.get("", "BACKWARD")}

    def _register(self, subject: str, given: Any) -> Reply:
        if subject in self.refused:
            return 409, {"error_code": 409, "message": self.refused[subject]}
        versions = self._subjects.setdefault(subject, {})
        kept = {name: given[name] for name in ("schema", "schemaType", "references") if given.get(name)}
        found = next((each for each in self._schemas if _same(each, kept)), None)
        if found is None:
            number = len(self._schemas) + 1
            guid = str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(kept, sort_keys=True)))
            found = {"id": number, "guid": guid, **kept}
            self._schemas.append(found)
        if found["id"] not in versions.values():
            versions[max(versions, default=0) + 1] = found["id"]
        return 200, {"id": found["id"], "guid": found["guid"]}

    def _look_up(self, subject: str, given: Any) -> Reply:
        kept = {name: given[name] for name in ("schema", "schemaType", "references") if given.get(name)}
        for version, number in self._subjects.get(subject, {}).items():
            if _same(self._schemas[number - 1], kept):
                return 200, {**self._schemas[number - 1], "subject": subject, "version": version}
        return _missing(40403 if subject in self._subjects else 40401)

    def _version(self, subject: str, version: str) -> Reply:
        versions = self._subjects.get(subject)
        if not versions:
            return _missing(40401)
        number = max(versions) if version in ("latest", "-1") else int(version)
        if number not in versions:
            return _missing(40402)
        return 200, {**self._schemas[versions[number] - 1], "subject": subject, "version": number}

    def _by(self, matches: Callable[[dict[str, Any]], bool], code: int) -> Reply:
        found = next((each for each in self._schemas if matches(each)), None)
        return _missing(code) if found is None else (200, found)


def _same(known: dict[str, Any], given: dict[str, Any]) -> bool:
    def key(each: dict[str, Any]) -> tuple[object, ...]:
        return each["schema"], each.get("schemaType", "AVRO"), each.get("references") or []

    return key(known) == key(given)


def _missing(code: int) -> Reply:
    what = {40401: "Subject", 40402: "Version", 40403: "Schema"}[code]
    return 404, {"error_code": code, "message": f"{what} not found."}
