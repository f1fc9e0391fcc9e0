"""The requests that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import TypeAlias

import attrs

from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.registry.api.answers import answer, listed, streamed
from kafkatx.broker.registry.api.bodies import read_candidate
from kafkatx.broker.registry.api.settings import ApiSettings
from kafkatx.broker.registry.registry import SchemaRegistry
from kafkatx.registry import queries
from kafkatx.registry.contents import Content, Version
from kafkatx.registry.errors import INVALID_SCHEMA, RegistryError, schema_not_found, unknown_leader
from kafkatx.registry.records import MAX_ID
from kafkatx.registry.registration import incompatibilities, look_up, serialized
from kafkatx.registry.state import RegistryState
from kafkatx.registry.subjects import ALL_CONTEXTS, GLOBAL, normalized
from kafkatx.schemas.types import SchemaType
from kafkatx.web.calls import Answer, Call
from kafkatx.web.routes import Routes


def _schema_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_ID):
        raise schema_not_found(text[:40])
    return int(text)


Users: TypeAlias = Callable[[RegistryState, str], set[str]]
"""Returns the subjects that have the schema of an id or a guid, deleted ones, too."""


def _users_of_id(state: RegistryState, text: str) -> set[str]:
    return {subject for subject, _ in queries.users(state, _schema_id(text), "", True)}


class Reads:
    """The handlers."""

    def __init__(self, registry: SchemaRegistry, settings: ApiSettings, guard: HttpGuard) -> None:
        self._registry = registry
        self._guard = guard
        self._max_bytes = settings.max_schema_bytes
        self._level = settings.level

    def add_to(self, routes: Routes) -> None:
        """Add the handlers to the routes."""
        queried: dict[str, Callable[..., Answer]] = {
            "/subjects": self._subjects,
            "/subjects/{subject}/versions": self._versions,
            "/subjects/{subject}/metadata": self._with_metadata,
            "/subjects/{subject}/versions/{version}/referencedby": self._referenced_by,
            "/schemas": self._schemas,
            "/contexts": self._contexts,
            "/config": self._config,
            "/config/{subject}": self._config,
            "/mode": self._mode,
            "/mode/{subject}": self._mode,
        }
        for pattern, query in queried.items():
            routes.add("GET", pattern, partial(self._query, query))
        guarded: dict[str, tuple[Users, Callable[..., Answer]]] = {
            "/schemas/ids/{id}/subjects": (_users_of_id, self._subjects_by_id),
            "/schemas/ids/{id}/versions": (_users_of_id, self._versions_by_id),
            "/schemas/guids/{guid}/ids": (queries.users_of_guid, self._ids_by_guid),
        }
        for pattern, (users, query) in guarded.items():
            routes.add("GET", pattern, partial(self._guarded, users, query))
        routes.add("GET", "/subjects/{subject}/versions/{version}", self._version)
        routes.add("GET", "/subjects/{subject}/versions/{version}/schema", self._version_schema)
        routes.add("GET", "/schemas/ids/{id}", self._by_id)
        routes.add("GET", "/schemas/ids/{id}/schema", self._schema_by_id)
        routes.add("GET", "/schemas/guids/{guid}", self._by_guid)
        routes.add("POST", "/subjects/{subject}", self._look_up)
        routes.add("POST", "/compatibility/subjects/{subject}/versions", self._compatibility)
        routes.add("POST", "/compatibility/subjects/{subject}/versions/{version}", self._compatibility)

    async def _state(self) -> RegistryState:
        state = await self._registry.state()
        if state is None:
            raise unknown_leader()
        return state

    async def _query(self, query: Callable[..., Answer], call: Call, *names: str) -> Answer:
        return query(await self._state(), call, *names)

    async def _guarded(self, users: Users, query: Callable[..., Answer], call: Call, name: str) -> Answer:
        """Answer a request for a schema if the client may see a subject that has it."""
        state = await self._state()
        self._guard.check_schema(call, partial(users, state, name))
        return query(state, call, name)

    # --- subjects

    def _subjects(self, state: RegistryState, call: Call) -> Answer:
        prefix = call.text("subjectPrefix", ALL_CONTEXTS)
        found = queries.subjects(state, prefix, call.flag("deleted"), call.flag("deletedOnly"))
        sees = self._guard.viewer(call)
        return listed(call, [subject for subject in found if sees(subject)])

    def _versions(self, state: RegistryState, call: Call, subject: str) -> Answer:
        found = queries.versions(state, normalized(subject), call.flag("deleted"), call.flag("deletedOnly"))
        return listed(call, found)

    def _with_metadata(self, state: RegistryState, call: Call, subject: str) -> Answer:
        wanted = list(zip_longest(call.query.get("key", ()), call.query.get("value", ()), fillvalue=""))
        found = queries.with_metadata(state, normalized(subject), wanted, call.flag("deleted"))
        return answer(queries.version_body(found))

    async def _version(self, call: Call, subject: str, version: str) -> Answer:
        found = await self._found_version(call, subject, version)
        return answer(queries.version_body(found))

    async def _version_schema(self, call: Call, subject: str, version: str) -> Answer:
        found = await self._found_version(call, subject, version)
        return Answer(200, found.content.schema.text.encode())

    async def _found_version(self, call: Call, subject: str, version: str) -> Version:
        number = queries.parse_version(version)
        found = queries.find_version(await self._state(), normalized(subject), number, call.flag("deleted"))
        return attrs.evolve(found, content=await self._formatted(call, found.content))

    async def _formatted(self, call: Call, content: Content) -> Content:
        """Return a schema in the format that a request asks for."""
        if call.text("format") != "serialized" or content.schema.type is not SchemaType.PROTOBUF:
            return content
        return await self._registry.find(call.share, partial(serialized, content=content))

    def _referenced_by(self, state: RegistryState, call: Call, subject: str, version: str) -> Answer:
        number = queries.parse_version(version)
        return listed(call, queries.referenced_by(state, normalized(subject), number, call.flag("deleted")))

    # --- schemas

    def _schemas(self, state: RegistryState, call: Call) -> Answer:
        prefix, latest_only = call.text("subjectPrefix"), call.flag("latestOnly")
        sees = self._guard.viewer(call)
        found = queries.schemas(state, prefix, call.flag("deleted"), latest_only)
        return streamed(call, (queries.version_body(one) for one in found if sees(one.subject)))

    async def _by_id(self, call: Call, schema_id: str) -> Answer:
        state = await self._state()
        body = queries.described(await self._content_of_id(state, call, schema_id))
        if call.flag("fetchMaxId"):
            body["maxId"] = state.max_id
        return answer(body)

    async def _schema_by_id(self, call: Call, schema_id: str) -> Answer:
        content = await self._content_of_id(await self._state(), call, schema_id)
        return Answer(200, content.schema.text.encode())

    async def _content_of_id(self, state: RegistryState, call: Call, schema_id: str) -> Content:
        self._guard.check_schema(call, partial(_users_of_id, state, schema_id))
        return await self._formatted(call, queries.by_id(state, _schema_id(schema_id)))

    def _subjects_by_id(self, state: RegistryState, call: Call, schema_id: str) -> Answer:
        found = queries.users(state, _schema_id(schema_id), call.text("subject"), call.flag("deleted"))
        sees = self._guard.viewer(call)
        return listed(call, sorted({subject for subject, _ in found if sees(subject)}))

    def _versions_by_id(self, state: RegistryState, call: Call, schema_id: str) -> Answer:
        found = queries.users(state, _schema_id(schema_id), call.text("subject"), call.flag("deleted"))
        sees = self._guard.viewer(call)
        seen = [{"subject": subject, "version": version} for subject, version in found if sees(subject)]
        return listed(call, seen)

    async def _by_guid(self, call: Call, guid: str) -> Answer:
        state = await self._state()
        self._guard.check_schema(call, partial(queries.users_of_guid, state, guid))
        return answer(queries.described(await self._formatted(call, queries.by_guid(state, guid))))

    def _ids_by_guid(self, state: RegistryState, call: Call, guid: str) -> Answer:
        return answer(queries.ids_of_guid(state, guid))

    # --- scopes

    def _contexts(self, state: RegistryState, call: Call) -> Answer:
        return listed(call, queries.contexts(state))

    def _config(self, state: RegistryState, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        return answer(queries.config(state, name, call.flag("defaultToGlobal"), self._level))

    def _mode(self, state: RegistryState, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        return answer({"mode": queries.mode(state, name, call.flag("defaultToGlobal"))})

    # --- what needs an engine

    async def _look_up(self, call: Call, subject: str) -> Answer:
        candidate, name = read_candidate(call, self._max_bytes), normalized(subject)
        normalize, deleted = call.flag("normalize"), call.flag("deleted")
        steps = partial(
            look_up,
            subject=name,
            candidate=candidate,
            normalize=normalize,
            deleted=deleted,
            default_level=self._level,
        )
        return answer(queries.version_body(await self._registry.find(call.share, steps)))

    async def _compatibility(self, call: Call, subject: str, version: str | None = None) -> Answer:
        candidate, name = read_candidate(call, self._max_bytes), normalized(subject)
        steps = partial(
            incompatibilities,
            subject=name,
            candidate=candidate,
            version=None if version is None else queries.parse_version(version),
            normalize=call.flag("normalize"),
            default_level=self._level,
        )
        try:
            reasons = await self._registry.find(call.share, steps)
        except RegistryError as error:
            if error.code != INVALID_SCHEMA or not call.flag("verbose"):
                raise
            reasons = (str(error),)
        body: dict[str, object] = {"is_compatible": not reasons}
        if call.flag("verbose"):
            body["messages"] = reasons
        return answer(body)
