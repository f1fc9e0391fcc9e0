"""The requests that change something."""

from __future__ import annotations

from functools import partial

from kafkatx.broker.registry.api.answers import answer
from kafkatx.broker.registry.api.bodies import read_candidate, read_object
from kafkatx.broker.registry.api.settings import ApiSettings
from kafkatx.broker.registry.registry import SchemaRegistry
from kafkatx.registry import changes
from kafkatx.registry.contents import Version
from kafkatx.registry.queries import parse_version, registered_body
from kafkatx.registry.registration import Candidate, find_as_sent, register
from kafkatx.registry.scopes import config_of
from kafkatx.registry.subjects import GLOBAL, normalized
from kafkatx.web.calls import Answer, Call
from kafkatx.web.routes import Routes


class Writes:
    """The handlers."""

    def __init__(self, registry: SchemaRegistry, settings: ApiSettings) -> None:
        self._registry = registry
        self._max_bytes = settings.max_schema_bytes
        self._level = settings.level

    def add_to(self, routes: Routes) -> None:
        """Add the handlers to the routes."""
        routes.add("POST", "/subjects/{subject}/versions", self._register)
        routes.add("DELETE", "/subjects/{subject}", self._delete_subject)
        routes.add("DELETE", "/subjects/{subject}/versions/{version}", self._delete_version)
        for pattern in ("/config", "/config/{subject}"):
            routes.add("PUT", pattern, self._update_config)
            routes.add("DELETE", pattern, self._delete_config)
        for pattern in ("/mode", "/mode/{subject}"):
            routes.add("PUT", pattern, self._update_mode)
            routes.add("DELETE", pattern, self._delete_mode)

    async def _register(self, call: Call, subject: str) -> Answer:
        candidate, name = read_candidate(call, self._max_bytes), normalized(subject)
        normalize = call.flag("normalize")
        stored = await self._registered(name, candidate, normalize)
        if stored is None:
            found = await self._registry.change(
                call.share,
                partial(
                    register,
                    subject=name,
                    candidate=candidate,
                    normalize=normalize,
                    default_level=self._level,
                ),
            )
            assert isinstance(found, Version)
            stored = found
        return answer(registered_body(stored))

    async def _registered(self, subject: str, candidate: Candidate, normalize: bool) -> Version | None:
        """Return the version that has this text already: most registrations are of such a one."""
        state = await self._registry.state()
        if state is None or normalize or candidate.version is not None:
            return None
        if config_of(state, subject, self._level).get("normalize") is True:
            return None
        stored = find_as_sent(state, subject, candidate)
        return stored if stored is not None and candidate.id in (None, stored.content.id) else None

    async def _delete_subject(self, call: Call, subject: str) -> Answer:
        command = partial(
            changes.delete_subject, subject=normalized(subject), permanent=call.flag("permanent")
        )
        return answer(await self._registry.change(call.share, command))

    async def _delete_version(self, call: Call, subject: str, version: str) -> Answer:
        command = partial(
            changes.delete_version,
            subject=normalized(subject),
            version=parse_version(version),
            permanent=call.flag("permanent"),
        )
        return answer(await self._registry.change(call.share, command))

    async def _update_config(self, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        command = partial(changes.update_config, subject=name, request=read_object(call))
        return answer(await self._registry.change(call.share, command))

    async def _delete_config(self, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        command = partial(changes.delete_config, subject=name, default_level=self._level)
        return answer(await self._registry.change(call.share, command))

    async def _update_mode(self, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        mode, force = read_object(call).get("mode"), call.flag("force")
        command = partial(changes.update_mode, subject=name, mode=mode, force=force)
        return answer(await self._registry.change(call.share, command))

    async def _delete_mode(self, call: Call, subject: str = GLOBAL) -> Answer:
        name = normalized(subject) if subject else GLOBAL
        return answer(await self._registry.change(call.share, partial(changes.delete_mode, subject=name)))
