"""Schemas: by requests to the schema registry, as the user, here or at the broker that leads its topic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import attrs

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.errors import ConsoleError, found_error, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.registry.errors import RegistryError
from kafkatx.web.calls import JSON, Call, as_json

MOST_SORTED = 300
"""With more subjects they can be sorted by their names alone: of each the newest version would be read."""

MOST_VERSIONS = 200
"""The newest versions of a subject that are told."""

NAMES = Listing.of_items("subject")
LISTING = Listing.of_items("subject", "latestVersion", "type", "id", "compatibility")


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    schemas = _Schemas(parts)
    path = "/schemas/{subject}"
    candidate = {
        "type": "AVRO, JSON or PROTOBUF",
        "schema": "the schema's text",
        "references": "a list of {name, subject, version}",
    }
    levels = {"level": "BACKWARD, FULL_TRANSITIVE, NONE, ...; null: as of all subjects"}
    return [
        Route("GET", "/schemas", schemas.list, "List the subjects", QUERY),
        Route("GET", path, schemas.describe, "Describe a subject", {"context": "the subject's context"}),
        Route("GET", f"{path}/versions/{{version}}", schemas.version, "Tell a schema"),
        Route(
            "POST", f"{path}/check", schemas.check, "Check if a schema fits the earlier ones", body=candidate
        ),
        Route(
            "POST", f"{path}/versions", schemas.register, "Register a schema", body=candidate, changes=True
        ),
        Route(
            "PUT",
            f"{path}/compatibility",
            schemas.set_level,
            "Set the compatibility level of a subject",
            body=levels,
            changes=True,
        ),
    ]


class _Schemas:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts

    async def _ask(
        self,
        call: Call,
        method: str,
        path: Sequence[str],
        body: object = None,
        **query: str,
    ) -> Any:
        """Return the answer of the registry.

        :raises ConsoleError: it refuses.
        """
        target = "/" + "/".join(quote(part, safe="") for part in path)
        asked = attrs.evolve(
            call,
            method=method,
            target=f"{target}?{urlencode(query)}" if query else target,
            path=tuple(path),
            query={name: [value] for name, value in query.items()},
            headers={"content-type": JSON, "accept": JSON},
            body=b"" if body is None else as_json(body),
        )
        answer = await self._parts.registry.parts.application(asked)
        content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        found = json.loads(content)
        if answer.status >= 400:
            raise found_error(RegistryError(found["error_code"], found["message"]))
        return found

    async def list(self, call: Call) -> object:
        """Return a page of the subjects that the user may describe."""
        page = Page.of(call, LISTING.fields)
        items = [{"subject": name} for name in await self._ask(call, "GET", ["subjects"])]
        if page.sort in ("", "subject"):
            total, shown = NAMES.cut(page, items)
            return {"total": total, "items": [await self._item(call, one["subject"]) for one in shown]}
        if len(items) > MOST_SORTED:
            raise invalid(f"sort={page.sort}: {len(items)} subjects can be sorted by subject alone")
        total, shown = LISTING.cut(page, [await self._item(call, one["subject"]) for one in items])
        return {"total": total, "items": shown}

    async def _item(self, call: Call, subject: str) -> dict[str, Any]:
        try:
            latest = await self._ask(call, "GET", ["subjects", subject, "versions", "latest"])
        except ConsoleError:
            latest = {}  # it was deleted meanwhile
        return {
            "subject": subject,
            "latestVersion": latest.get("version"),
            "type": latest.get("schemaType", "AVRO") if latest else None,
            "id": latest.get("id"),
            "compatibility": await self._level(call, subject),
        }

    async def _level(self, call: Call, subject: str) -> str | None:
        found = await self._ask(call, "GET", ["config", subject], defaultToGlobal="true")
        level: str | None = found.get("compatibilityLevel")
        return level

    async def describe(self, call: Call, subject: str) -> object:
        """Describe a subject."""
        context = call.text("context")
        if context and not subject.startswith(":"):
            subject = f":.{context.removeprefix('.')}:{subject}"
        numbers = await self._ask(call, "GET", ["subjects", subject, "versions"])
        mode = await self._ask(call, "GET", ["mode", subject], defaultToGlobal="true")
        return {
            "subject": subject,
            "compatibility": await self._level(call, subject),
            "mode": mode["mode"],
            "versions": [
                _version(await self._ask(call, "GET", ["subjects", subject, "versions", str(number)]))
                for number in numbers[-MOST_VERSIONS:]
            ],
        }

    async def version(self, call: Call, subject: str, version: str) -> object:
        """Tell a schema."""
        found = await self._ask(call, "GET", ["subjects", subject, "versions", version])
        references = found.get("references", [])
        return {"subject": subject, **_version(found), "schema": found["schema"], "references": references}

    async def check(self, call: Call, subject: str) -> object:
        """Check if a schema fits the earlier ones, as the level asks; the first one always does."""
        path = ["compatibility", "subjects", subject, "versions"]
        found = await self._ask(call, "POST", path, _candidate(call), verbose="true")
        return {"compatible": found["is_compatible"], "messages": found.get("messages", [])}

    async def register(self, call: Call, subject: str) -> object:
        """Register a schema; one that is registered already has its old version."""
        candidate = _candidate(call)
        with self._parts.actions.change(call, "register schema", f"subject {subject}"):
            path = ["subjects", subject]
            registered = await self._ask(call, "POST", [*path, "versions"], candidate)
            found = await self._ask(call, "POST", path, candidate)
        return {"id": registered["id"], "version": found["version"]}

    async def set_level(self, call: Call, subject: str) -> object:
        """Set the level of a subject, or have it follow that of all."""
        fields = Fields.of(call)
        level = fields.text("level") if fields.has("level") else None
        with self._parts.actions.change(
            call, "set compatibility", f"subject {subject}: {level or 'default'}"
        ):
            if level is None:
                await self._ask(call, "DELETE", ["config", subject])
            else:
                await self._ask(call, "PUT", ["config", subject], {"compatibility": level})
        return {"compatibility": await self._level(call, subject)}


def _version(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": found["version"], "id": found["id"], "type": found.get("schemaType", "AVRO")}


def _candidate(call: Call) -> dict[str, object]:
    """Return the body of a request to the registry.

    :raises ConsoleError: a field is missing or wrong.
    """
    fields = Fields.of(call)
    references = [
        {"name": one.text("name"), "subject": one.text("subject"), "version": one.whole("version")}
        for one in fields.children("references")
    ]
    return {
        "schema": fields.text("schema"),
        "schemaType": fields.text("type", "AVRO"),
        "references": references,
    }
