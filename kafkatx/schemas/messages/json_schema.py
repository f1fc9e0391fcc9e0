"""JSON, checked against a JSON Schema by ``jsonschema``. Nothing is fetched from the network.

A value that passes :mod:`~kafkatx.schemas.messages.json_check`, a quick check of the usual keywords, needs no
other; ``jsonschema`` decides about all others, and says what is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urldefrag, urljoin

from kafkatx.schemas import json_numbers
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.format import Read, Write
from kafkatx.schemas.messages.imports import Import
from kafkatx.schemas.messages.json_check import quick_check
from kafkatx.schemas.messages.plain import plain
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema, SchemaType

_Check = Callable[[Any], "str | None"]
"""Returns why a value does not match; None if it does."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class JsonSchemaFormat:
    """The format of JSON messages with a schema.

    Values are those of JSON; an object may also have the fields as attributes.

    :ivar checked: check each value.
    """

    type = SchemaType.JSON

    def __init__(self) -> None:
        self.checked = True

    def schema_of(self, given: Any) -> tuple[Schema, str] | None:
        """Return the schema that an application gave; a class tells it by ``__schema__``."""
        told = given if isinstance(given, (str, Schema, Mapping)) else getattr(given, "__schema__", None)
        if told is None:
            return None
        if isinstance(told, Mapping):
            told = json.dumps(told)
        schema = told if isinstance(told, Schema) else Schema(str(told), SchemaType.JSON)
        return schema, _title(load(schema.text))

    def imports(self, given: Any) -> Sequence[Import]:
        """Return nothing: a schema names its references."""
        return ()

    def writer(
        self, schema: Schema, dependencies: Dependencies, prefix: bytes, given: Any
    ) -> tuple[bytes, Write]:
        """Return a function that writes a message."""
        quick, check = self._checks(schema, dependencies)

        def write(value: Any) -> bytes:
            if quick(value):
                try:
                    return prefix + _encode(value).encode()
                except (ValueError, TypeError, RecursionError):
                    pass  # a number that JSON lacks, say
            return write_slowly(value)

        def write_slowly(value: Any) -> bytes:
            """Write objects as their fields; raise BadValue if that fails as well."""
            try:
                text = _encode(plain(value))
                value = json.loads(text)
            except (ValueError, TypeError, RecursionError) as error:
                raise BadValue(f"the value is no JSON: {error}") from error
            why = check(value)
            if why is not None:
                raise BadValue(f"the value does not match the schema: {why}")
            return prefix + text.encode()

        return b"", write

    def reader(
        self, schema: Schema, dependencies: Dependencies, target: Any, indexes: bytes | None = None
    ) -> Read:
        """Return a function that reads a payload; *target* is a schema to check it with, not its own."""
        if isinstance(target, ReaderSchema):
            if target.schema is not None:
                schema, dependencies = target.schema, target.dependencies
        else:
            wanted = None if target is None else self.schema_of(target)
            if wanted is not None:
                schema, dependencies = wanted[0], {}
        quick, check = self._checks(schema, dependencies)

        def read(data: bytes, start: int) -> Any:
            try:
                value = json_numbers.load(bytes(data[start:]))
            except (ValueError, RecursionError) as error:
                raise BadPayload(f"it is no JSON: {error}") from error
            if not quick(value):
                why = check(value)
                if why is not None:
                    raise BadPayload(f"it does not match the schema: {why}")
            return value

        return read

    def _checks(self, schema: Schema, dependencies: Dependencies) -> tuple[Callable[[Any], bool], _Check]:
        if not self.checked:
            return (lambda value: value.__class__ in (dict, list, str, int, bool)), lambda value: None
        return quick_check(load(schema.text)), _validator(schema, dependencies)


def load(text: str) -> Any:
    """Parse the text of a schema.

    :raises InvalidSchema: it is neither an object nor true or false in JSON.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchema(f"no JSON Schema: it is not JSON: {error}") from None
    if not isinstance(found, (dict, bool)):
        raise InvalidSchema(f"no JSON Schema: {text[:60]}")
    return found


def _title(schema: Any) -> str:
    title = schema.get("title") if isinstance(schema, dict) else None
    return title if isinstance(title, str) else ""


def _named_urls(contents: Any, others: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the URLs that a reference by the name of a registered schema may have, with the names.

    A reference is relative to the ``$id`` around it, and a schema is registered by the name in the reference.
    """
    bases = set(_bases(contents, ""))
    for name, other in others.items():
        bases.update(_bases(other, name))
    found: dict[str, str] = {}
    for base in sorted(bases):
        for name in others:
            with suppress(ValueError):
                found.setdefault(urldefrag(urljoin(base, name))[0], name)
    return found


def _bases(document: Any, base: str) -> Iterator[str]:
    """Yield the URLs that references in a document are relative to."""
    yield base
    waiting = [(document, base)]
    while waiting:
        part, base = waiting.pop()
        if isinstance(part, list):
            waiting.extend((each, base) for each in part)
        elif isinstance(part, dict):
            own = part.get("$id", part.get("id"))
            if isinstance(own, str):
                with suppress(ValueError):
                    base = urljoin(base, own)
                    yield base
            waiting.extend((each, base) for each in part.values())


def _validator(schema: Schema, dependencies: Dependencies) -> _Check:
    try:
        from jsonschema import Draft202012Validator, validators
        from jsonschema.exceptions import SchemaError, best_match
        from referencing import Registry, Resource
        from referencing.exceptions import NoSuchResource, Unresolvable
        from referencing.jsonschema import DRAFT202012, specification_with
    except ImportError:
        raise InvalidSchema("JSON Schema needs jsonschema: pip install 'kafkatx[schemas]'") from None
    contents = load(schema.text)
    kind = validators.validator_for(contents, default=Draft202012Validator)
    try:
        kind.check_schema(contents)
    except (SchemaError, RecursionError) as error:
        raise InvalidSchema(f"no JSON Schema: {str(error).splitlines()[0]}") from error
    own_id = contents.get("$schema") if isinstance(contents, dict) else None
    specification = specification_with(str(own_id), default=DRAFT202012)
    others = {
        name: Resource.from_contents(load(other.text), default_specification=specification)
        for name, other in dependencies.items()
    }
    named = _named_urls(contents, {name: other.contents for name, other in others.items()})

    def retrieve(url: str) -> Any:
        if url not in named:
            raise NoSuchResource(url)
        return others[named[url]]

    resources: Any = Registry(retrieve=retrieve).with_resources(others.items())  # type: ignore[call-arg]
    validator = kind(contents, registry=resources)

    def check(value: Any) -> str | None:
        try:
            error = best_match(validator.iter_errors(value))
        except Unresolvable as unresolved:
            return f"the schema refers to {unresolved.ref}, which is not registered as a reference"
        except RecursionError:
            return "it is nested too deeply"
        return None if error is None else f"{error.json_path}: {error.message[:300]}"

    return check
