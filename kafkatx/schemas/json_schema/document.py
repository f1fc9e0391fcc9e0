"""A JSON schema with those that it refers to: checked, and its references resolved. Pure.

References are URLs, relative to the ``$id`` around them; a referenced schema is found by its name, and by its
own ``$id``. Nothing is fetched. The meta-schemas of the drafts are known as schemas that everything fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote, urldefrag, urljoin

from kafkatx.schemas.json_schema.keywords import check_keywords, parts
from kafkatx.schemas.json_text import JSON, Object, quote
from kafkatx.schemas.limits import MAX_DEPTH, MAX_URL_LENGTH
from kafkatx.schemas.places import below
from kafkatx.schemas.types import InvalidSchema

_META_SCHEMAS: Final = ("http://json-schema.org/draft-0", "https://json-schema.org/draft/20")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_WITHOUT_SIBLINGS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
_LONGEST_CHAIN: Final = 100
"""References that refer on, one after the other."""


class Document:
    """A root schema and the schemas within reach of it.

    :ivar root: the schema itself.
    :ivar siblings: True if keywords beside ``$ref`` count, as in the drafts since 2019.
    """

    def __init__(self, root: JSON, dependencies: Mapping[str, JSON]) -> None:
        """Check and resolve the schemas.

        :raises InvalidSchema: one breaks a rule, is nested too deep, or refers to one that is not there.
        """
        self.root = root
        self.siblings = isinstance(root, dict) and "$schema" in root and not _ignores_siblings(root)
        self._by_url: dict[str, JSON] = {}
        self._bases: dict[int, str] = {}
        self._referring: list[tuple[Object, str]] = []
        for name, dependency in dependencies.items():
            self._add(dependency, name, f"in the referenced schema {quote(name)}")
        self._add(root, "", "")
        for schema, where in self._referring:
            self._check_reference(schema, where)
        known: dict[int, int] = {}
        for schema, where in self._referring:
            self._check_chain(schema, where, known)

    def target(self, schema: Object) -> JSON | None:
        """Return the schema that a schema refers to, which may refer on; None if it does not refer."""
        url = _reference(schema)
        return self._resolve(url, self._bases[id(schema)]) if url else None

    def _check_reference(self, schema: Object, where: str) -> None:
        """Resolve a schema's reference; check its target, too, if it stands at a place of no schema."""
        url = _reference(schema)
        base = self._bases[id(schema)]
        try:
            found = self._resolve(url, base)
        except InvalidSchema as error:
            raise InvalidSchema(f"the JSON schema is not valid at {where or '/'}: {error}") from None
        if isinstance(found, dict) and id(found) not in self._bases:
            self._walk(found, base, where)

    def _check_chain(self, schema: Object, where: str, known: dict[int, int]) -> None:
        """Check that references which refer on lead to a schema.

        :param known: the number of references from schemas on; those on the way are added.
        :raises InvalidSchema: they go in a circle, or too far.
        """
        found: JSON | None = schema
        passed: list[int] = []
        more = 0
        while found is not None and len(passed) + more <= _LONGEST_CHAIN:
            passed.append(id(found))
            found = self.target(found) if isinstance(found, dict) else None
            if id(found) in known:
                more, found = known[id(found)], None
        if len(passed) + more > _LONGEST_CHAIN:
            shown = f"the references from {quote(_reference(schema))} on lead to no schema"
            raise InvalidSchema(f"the JSON schema is not valid at {where or '/'}: {shown}")
        known.update((one, more + len(passed) - index) for index, one in enumerate(passed))

    def _add(self, document: JSON, url: str, where: str) -> None:
        """Check a document, and note the URLs of the schemas in it."""
        self._by_url.setdefault(url, document)
        self._walk(document, url, where)

    def _walk(self, document: JSON, base: str, where: str) -> None:
        """Check a schema and those in it, level by level.

        :param base: the URL that its references are relative to.
        """
        level = [(document, base, where)]
        for _ in range(MAX_DEPTH + 1):
            below_level: list[tuple[JSON, str, str]] = []
            for schema, url, place in level:
                below_level.extend(self._visit(schema, url, place))
            if not below_level:
                return
            level = below_level
        raise InvalidSchema(f"the schemas are nested too deep at {level[0][2][:80]}…: at most {MAX_DEPTH}")

    def _visit(self, schema: JSON, base: str, where: str) -> Iterable[tuple[JSON, str, str]]:
        """Check one schema, and return those in it, each with its base and place."""
        if isinstance(schema, bool):
            return ()
        if not isinstance(schema, dict):
            shown = f"a schema is an object, true or false, not {quote(schema)}"
            raise InvalidSchema(f"the JSON schema is not valid at {where or '/'}: {shown}")
        check_keywords(schema, where)
        base = self._note_urls(schema, base)
        self._bases[id(schema)] = base
        if _reference(schema):
            self._referring.append((schema, where))
        return [(part, base, place) for part, place in parts(schema, where)]

    def _note_urls(self, schema: Object, base: str) -> str:
        """Note the URLs by which a schema is referred to, and return the base of those in it."""
        own = schema.get("$id", schema.get("id"))
        if isinstance(own, str) and own:
            url, fragment = _join(base, own)
            if fragment:
                self._by_url.setdefault(f"{url}#{fragment}", schema)
            else:
                self._by_url.setdefault(url, schema)
                base = url
        for keyword in _ANCHORS:
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                self._by_url.setdefault(f"{base}#{anchor}", schema)
        return base

    def _resolve(self, reference: str, base: str) -> JSON:
        """Return the schema at a URL.

        :raises InvalidSchema: there is none.
        """
        for url, fragment in (_join(base, reference), _join("", reference)):
            if f"{url}#{fragment}" in self._by_url:
                return self._by_url[f"{url}#{fragment}"]
            if url in self._by_url and (not fragment or fragment.startswith("/")):
                return _at(self._by_url[url], fragment, reference)
            if url.startswith(_META_SCHEMAS):
                return True
        raise InvalidSchema(
            f"there is no schema {quote(reference)}; is a reference to it missing, or its name another?"
        )


def _ignores_siblings(root: Object) -> bool:
    return any(draft in str(root.get("$schema")) for draft in _WITHOUT_SIBLINGS)


def _reference(schema: Object) -> str:
    """Return the URL that a schema refers to; empty if it does not."""
    for keyword in _REFERENCES:
        url = schema.get(keyword)
        if isinstance(url, str):
            return url
    return ""


def _join(base: str, url: str) -> tuple[str, str]:
    """Return the full URL, and its fragment.

    :raises InvalidSchema: it is none.
    """
    try:
        full, fragment = urldefrag(urljoin(base, url))
    except ValueError as error:
        raise InvalidSchema(f"{quote(url)} is no URL: {error}") from error
    if len(full) > MAX_URL_LENGTH:
        raise InvalidSchema(f"the URL {quote(full)} is too long: at most {MAX_URL_LENGTH} letters")
    return full, fragment


def _at(document: JSON, pointer: str, reference: str) -> JSON:
    """Return the part of a document at a JSON pointer, which may be empty.

    :raises InvalidSchema: there is none, or it is no schema.
    """
    found = document
    place = ""
    for step in unquote(pointer).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        place = below(place, key)
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and len(key) < 10 and int(key) < len(found):
            found = found[int(key)]
        else:
            raise InvalidSchema(f"there is no schema {quote(reference)}: {place} is missing")
    if not isinstance(found, (dict, bool)):
        raise InvalidSchema(f"{quote(reference)} is no schema, but {quote(found)}")
    return found
