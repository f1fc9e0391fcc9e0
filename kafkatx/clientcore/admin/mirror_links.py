"""The settings of links to other clusters, and the changes of them that commands make. Pure.

A link is commanded by cluster-wide dynamic settings alone, so that Kafka's own tools can do it as well:

*   ``mirror.links`` has the names of all links;
*   ``mirror.NAME.bootstrap.servers``, ``mirror.NAME.topics`` and others say what to mirror from where;
*   ``mirror.NAME.paused`` and ``mirror.NAME.promoted`` say which topics should be in these states.

The last two are regular expressions, which a topic's whole name has to match. Commands that name topics edit
them: ``orders|clicks\\.raw`` is such a list of names; :data:`EVERY_TOPIC` is the other form that they write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from kafkatx.clientcore.admin.configs import ConfigEntry
from kafkatx.errors import SettingError

LINKS = "mirror.links"
PREFIX = "mirror."
BOOTSTRAP_SERVERS, TOPICS, GROUPS, RATE = "bootstrap.servers", "topics", "groups", "rate.bytes"
PAUSED, PROMOTED = "paused", "promoted"

EVERY_TOPIC = ".*"

_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\[.\-])+")


def setting(link: str, name: str) -> str:
    """Return the whole name of a link's setting."""
    return f"{PREFIX}{link}.{name}"


def check_name(link: str) -> None:
    """Check the name of a new link.

    :raises SettingError: it has other characters than letters, digits, ``_`` and ``-``, or too many.
    """
    if not _NAME.fullmatch(link):
        raise SettingError(
            f"the link cannot be called {link[:100]!r}: give 1 to 64 letters, digits, underscores and hyphens"
        )


def settings_by_link(entries: Mapping[str, ConfigEntry]) -> dict[str, dict[str, ConfigEntry]]:
    """Return the settings of each link of ``mirror.links``, by their names without the prefix."""
    known = entries.get(LINKS)
    names = [] if known is None or not known.value else [name.strip() for name in known.value.split(",")]
    return {
        name: {key.removeprefix(prefix): entry for key, entry in entries.items() if key.startswith(prefix)}
        for name in names
        for prefix in (f"{PREFIX}{name}.",)
    }


def matches(pattern: str, topic: str) -> bool:
    """Return True if a setting's regular expression chooses a topic; an empty one chooses none.

    :raises SettingError: it is not a regular expression.
    """
    try:
        return bool(pattern) and re.fullmatch(pattern, topic) is not None
    except re.error as error:
        raise SettingError(f"{pattern} is not a regular expression: {error}") from None


def names_in(pattern: str) -> list[str] | None:
    """Return the names in a list as :func:`pattern_of` writes it; None for any other expression."""
    if not pattern:
        return []
    parts = pattern.split("|")
    if not all(map(_LITERAL.fullmatch, parts)):
        return None
    return [part.replace("\\", "") for part in parts]


def pattern_of(topics: Iterable[str]) -> str:
    """Return the expression for these topics alone, each once, in order; empty for none."""
    return "|".join(topic.replace(".", "\\.") for topic in sorted(set(topics)))


def with_topics(pattern: str, topics: Collection[str]) -> str:
    """Return an expression that also chooses some topics; without topics, one for every topic."""
    if not topics or pattern == EVERY_TOPIC:
        return EVERY_TOPIC
    names = names_in(pattern)
    if names is not None:
        return pattern_of([*names, *topics])
    new = [topic for topic in topics if not matches(pattern, topic)]
    return f"{pattern}|{pattern_of(new)}" if new else pattern


def without_topics(pattern: str, topics: Collection[str], name: str) -> str:
    """Return an expression that does not choose some topics any more; without topics, the empty one.

    :param name: the setting, for the error.
    :raises SettingError: the expression is not a list of names, and chooses one of them.
    """
    if not topics:
        return ""
    names = names_in(pattern)
    if names is not None:
        return pattern_of(set(names).difference(topics))
    chosen = [topic for topic in topics if matches(pattern, topic)]
    if chosen:
        raise SettingError(
            f"{name}={pattern} chooses {chosen[0]}, and is no list of names from which to take it:"
            " leave --topic out to reset it, or set it by `kafkatx configs alter --broker-defaults`"
        )
    return pattern
