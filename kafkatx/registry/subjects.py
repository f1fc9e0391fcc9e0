"""Names of subjects, and the contexts that a name may begin with: ``:.name:subject``. Pure.

A context is stored as a part of the name, and keeps subjects apart in lists; ids are common to all contexts.
``:.:subject`` is ``subject``, in the default context ``.``; ``:.name:`` alone means the context itself, in
configurations and modes.
"""

from __future__ import annotations

from kafkatx.registry.errors import invalid_subject

DEFAULT_CONTEXT = "."
GLOBAL = ""
"""The subject of the configuration and the mode for all."""

ALL_CONTEXTS = ":*:"
MOST_CHARACTERS = 1024


def normalized(subject: str) -> str:
    """Return a subject's name without the default context.

    :raises RegistryError: the name is empty, too long, or has control characters.
    """
    if subject.startswith(":.:"):
        subject = subject[3:]
    if not subject or len(subject) > MOST_CHARACTERS or not _printable(subject):
        raise invalid_subject(subject[:200])
    if subject == "__GLOBAL" or subject == "__EMPTY":
        raise invalid_subject(subject)
    return subject


def _printable(subject: str) -> bool:
    if any(character < " " or character == "\x7f" for character in subject):
        return False
    return not any("\ud800" <= character <= "\udfff" for character in subject)


def context_of(subject: str) -> str:
    """Return the context of a subject, with its dot: ``.name``."""
    if subject.startswith(":."):
        end = subject.find(":", 2)
        if end > 0:
            return subject[1:end]
    return DEFAULT_CONTEXT


def context_subject(subject: str) -> str:
    """Return the name under which the context of a subject is configured; empty for the default context."""
    context = context_of(subject)
    return GLOBAL if context == DEFAULT_CONTEXT else f":{context}:"


def topic_of(subject: str) -> str:
    """Return the topic whose keys or values a subject describes; empty if it is of no topic.

    Subjects of other contexts are of none: records of a topic are checked by the default context alone.
    """
    for suffix in ("-key", "-value"):
        if subject.endswith(suffix) and not subject.startswith(":."):
            return subject[: -len(suffix)]
    return ""


def covers(scope: str, subject: str) -> bool:
    """Return True if a scope (a subject, a context, or all) has a subject in it."""
    if scope == GLOBAL:
        return context_of(subject) == DEFAULT_CONTEXT
    return subject == scope or (context_subject(scope) == scope and context_subject(subject) == scope)


def has_prefix(subject: str, prefix: str) -> bool:
    """Return True if a subject begins as a client asks: ``:*:`` stands for any context."""
    if not prefix.startswith(ALL_CONTEXTS):
        return subject.startswith(prefix)
    rest = prefix[len(ALL_CONTEXTS) :]
    context = context_subject(subject)
    return subject[len(context) :].startswith(rest)
