"""Tasks that take several requests to a registry. A plan is a generator: it yields requests, is sent the
replies (or thrown the errors), and returns the result. The Twisted client and the blocking one run the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs

from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.clientcore.registry.requests import Request
from kafkatx.schemas.messages.imports import Import
from kafkatx.schemas.types import InvalidSchema, Reference, Schema

T = TypeVar("T")

Plan: TypeAlias = Generator[Request[Any], Any, T]

MAX_REFERENCES = 100


async def carry_out(plan: Plan[T], send: Callable[[Request[Any]], Awaitable[Any]]) -> T:
    """Send the requests of a plan one after the other; return its result.

    :param send: fires with the result of a request.
    """
    try:
        request = next(plan)
        while True:
            try:
                result = await send(request)
            except Exception as error:  # the plan may know what to do
                request = plan.throw(error)
            else:
                request = plan.send(result)
    except StopIteration as done:
        found: T = done.value
        return found


def ask(request: Request[T]) -> Plan[T]:
    """Send one request, and return its result."""
    result: T = yield request
    return result


def with_dependencies(registered: RegisteredSchema) -> Plan[RegisteredSchema]:
    """Fetch the schemas that a schema refers to, also indirectly.

    :raises InvalidSchema: they refer to each other in a circle, or are more than :data:`MAX_REFERENCES`.
    """
    if not registered.schema.references:
        return registered
    found: dict[str, Schema] = {}
    yield from _collect(registered.schema, found, ())
    return attrs.evolve(registered, dependencies=found)


def _collect(schema: Schema, found: dict[str, Schema], inside: tuple[tuple[str, int], ...]) -> Plan[None]:
    for reference in schema.references:
        place = (reference.subject, reference.version)
        if place in inside:
            raise InvalidSchema(f"{reference.subject} version {reference.version} refers to itself")
        if reference.name in found:
            continue
        if len(found) + len(inside) >= MAX_REFERENCES:
            raise InvalidSchema(f"the schema refers to more than {MAX_REFERENCES} others")
        other = yield from ask(requests.schema_version(*place, deleted=True))
        yield from _collect(other.schema, found, (*inside, place))
        found[reference.name] = other.schema


def schema_of_id(schema_id: int) -> Plan[RegisteredSchema]:
    """Return the schema of an id, with its dependencies."""
    found = yield from ask(requests.schema_by_id(schema_id))
    return (yield from with_dependencies(found))


def schema_of_guid(guid: str) -> Plan[RegisteredSchema]:
    """Return the schema of a GUID, with its dependencies."""
    found = yield from ask(requests.schema_by_guid(guid))
    return (yield from with_dependencies(found))


def latest(subject: str) -> Plan[RegisteredSchema]:
    """Return the latest version of a subject, with its dependencies."""
    found = yield from ask(requests.schema_version(subject))
    return (yield from with_dependencies(found))


@attrs.frozen
class WriterPolicy:
    """The way in which an encoder finds the schema to write with.

    :ivar auto_register: register the schema; otherwise one of the following must hold.
    :ivar use_schema_id: write with this id; -1: do not.
    :ivar use_latest: write with the subject's latest version; otherwise the given schema is looked up.
    :ivar needs_guid: the GUID is needed, for the header form.
    """

    auto_register: bool = True
    use_schema_id: int = -1
    use_latest: bool = False
    normalize: bool = False
    needs_guid: bool = False


def writer_schema(
    subject: str, schema: Schema | None, policy: WriterPolicy, imports: Sequence[Import] = ()
) -> Plan[RegisteredSchema]:
    """Return the schema to write with, registered under the subject.

    :param schema: of the message; None if only the registry knows it.
    :param imports: that it refers to, to be registered before it, each under its name as the subject.
    :raises ValueError: no schema is given, and the policy needs one.
    """
    if imports and schema is not None:
        references = yield from _import_references(imports, policy)
        schema = attrs.evolve(schema, references=references)
    if policy.auto_register and schema is not None:
        found = yield from ask(requests.register(subject, schema, policy.normalize))
    elif policy.use_schema_id >= 0 and not policy.auto_register:
        found = yield from ask(requests.schema_by_id(policy.use_schema_id))
    elif policy.use_latest:
        found = yield from ask(requests.schema_version(subject))
    elif schema is not None:
        found = yield from ask(requests.look_up(subject, schema, policy.normalize))
        found = attrs.evolve(found, schema=schema)
    else:
        raise ValueError(
            f"no schema is known for subject {subject}: set kafkatx.value.schema (kafkatx.key.schema), or "
            "use.latest.version=true"
        )
    if policy.needs_guid and not found.guid:
        by_id = yield from ask(requests.schema_by_id(found.id))
        if not by_id.guid:
            raise RegistryError(
                404, 404, f"no GUID is known of schema {found.id}: set the id's place to prefix"
            )
        found = attrs.evolve(found, guid=by_id.guid)
    return (yield from with_dependencies(found))


def _import_references(imports: Sequence[Import], policy: WriterPolicy) -> Plan[tuple[Reference, ...]]:
    """Return references to imports, which are registered if the policy says so."""
    references = []
    for each in imports:
        inner = yield from _import_references(each.imports, policy)
        schema = attrs.evolve(each.schema, references=inner)
        if policy.auto_register:
            yield from ask(requests.register(each.name, schema, policy.normalize))
        placed = yield from ask(requests.look_up(each.name, schema, policy.normalize))
        references.append(Reference(each.name, each.name, placed.version))
    return tuple(references)
