"""Masks: fields that the console hides from all users (``kafkatx.console.masking``). Pure.

A rule is ``topics:path``: a pattern of topic names (``*`` and ``?``), and a field. A path that begins with
``key`` or ``headers`` is in those, any other one in the value; a leading ``value`` may be left out. A ``*``
in a path stands for any field, and lists are looked through. A path of ``key`` or ``value`` alone hides all
of it.

A content that has no fields, because it is text or bytes or cannot be decoded, is hidden as a whole if a rule
is about a field of it; so is a text within which a rule has a field, since it may be JSON. An installed
decoder, which anyone may choose, has fields of its own: what it shows is hidden as a whole, too, unless it
has all fields that rules are about. Filters see what is shown.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import attrs

from kafkatx.errors import SettingError
from kafkatx.views.formats.content import NULL, Content

MASK: Final = "***"
SETTING: Final = "kafkatx.console.masking"

Path: TypeAlias = tuple[str, ...]

_SIDES: Final = ("key", "value", "headers")


@attrs.frozen
class Rule:
    """A rule; *path* begins with ``key``, ``value`` or ``headers``."""

    topics: str
    path: Path


def read_rule(text: str) -> Rule:
    """Read a rule.

    :raises SettingError: it is none.
    """
    topics, colon, field = text.strip().partition(":")
    parts = tuple(part.strip() for part in field.split("."))
    if not (topics.strip() and colon and all(parts)):
        raise SettingError(
            f"{SETTING}={text}: a rule is a pattern of topics, a colon and a field, such as"
            " orders*:customer.email"
        )
    return Rule(topics.strip(), parts if parts[0] in _SIDES else ("value", *parts))


@attrs.frozen
class Masks:
    """The paths that are hidden in the messages of one topic, without their first parts."""

    key: tuple[Path, ...] = ()
    value: tuple[Path, ...] = ()
    headers: tuple[Path, ...] = ()

    @classmethod
    def of(cls, rules: Iterable[Rule], topic: str) -> Masks:
        """Return the masks of a topic."""
        paths = {rule.path for rule in rules if fnmatch.fnmatchcase(topic, rule.topics)}
        sides = (tuple(sorted(path[1:] for path in paths if path[0] == side)) for side in _SIDES)
        return cls(*sides)

    def hides_header(self, name: str) -> bool:
        """Return True if the value of a header is hidden."""
        return any(not path or fnmatch.fnmatchcase(name, ".".join(path)) for path in self.headers)


def masked(content: Content, paths: Sequence[Path]) -> Content:
    """Return a content without what the paths hide."""
    if not paths or content.format == NULL:
        return content
    if () in paths or not isinstance(content.value, (dict, list)):
        return Content("masked", MASK, MASK, content.size, f"hidden by {SETTING}")
    value: object = content.value
    for path in paths:
        value = _without(value, path)
    fault = content.fault if value == content.value else f"fields are hidden by {SETTING}"
    return attrs.evolve(content, value=value, text=None, fault=fault)  # the text may have more than the value


def masked_row(content: Content, paths: Sequence[Path]) -> Content:
    """Return what an installed decoder has made of a content, without what the paths hide."""
    fields = content.value if isinstance(content.value, dict) else {}
    if any(path and path[0] != "*" and path[0] not in fields for path in paths):
        return masked(content, [()])
    return masked(content, paths)


def _without(value: object, path: Path) -> object:
    if isinstance(value, list):
        return [_without(item, path) for item in value]
    if not isinstance(value, dict):
        return MASK if isinstance(value, str) else value
    name, rest = path[0], path[1:]
    return {
        field: (_without(item, rest) if rest else MASK) if name in ("*", field) else item
        for field, item in value.items()
    }
