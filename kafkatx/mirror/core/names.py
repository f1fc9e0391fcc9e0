"""Topics of a source: which are copied, and under which names. Pure.

A target's name is made from a template: ``{alias}.{topic}``, say, or ``{topic}``. Never copied are internal
topics, and topics whose name says that they came from the target: with the target's alias ``central`` the
source's topic ``central.orders``, or ``other.central.orders``. The same holds for the source's own alias:
such a topic has been elsewhere and has come back. That keeps two mirrors in opposite directions from making
topics without end; single records are recognised by their provenance, whatever their topic.
"""

from __future__ import annotations

import re
import string

from kafkatx.errors import SettingError

INTERNAL = re.compile(r"__.*|mm2-.*|.*[.-]internal|heartbeats|kafkatx-audit|.*\.heartbeats|.*\.replica")
"""Topics of Kafka itself, of MirrorMaker 2, Connect and mirrors; and the announcements of the audit."""

SEPARATOR = "."
MAX_NAME = 249
LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
FIELDS = {"alias", "topic"}


class TopicNames:
    """The choice of topics of one source.

    :param topics: regular expression that must match the whole name of a topic.
    :param exclude: regular expression of names that are not copied all the same; empty: none.
    :param template: see :func:`check_template`.
    """

    def __init__(self, alias: str, target_alias: str, topics: str, exclude: str, template: str) -> None:
        self._alias = alias
        self._target_alias = target_alias
        self._topics = compiled("topics", topics)
        self._exclude = compiled("topics.exclude", exclude) if exclude else None
        self._template = check_template(template)

    def copied(self, topic: str) -> bool:
        """Return True if a topic is copied."""
        if self._topics.fullmatch(topic) is None or INTERNAL.fullmatch(topic) is not None:
            return False
        if self._exclude is not None and self._exclude.fullmatch(topic) is not None:
            return False
        return not self.closes_cycle(topic)

    def closes_cycle(self, topic: str) -> bool:
        """Return True if a topic's name says that it came from the target, or has come back to its source."""
        passed = topic.split(SEPARATOR)[:-1]
        return self._target_alias in passed or self._alias in passed

    def target(self, topic: str) -> str:
        """Return the name of a topic's copy.

        :raises SettingError: it is too long for Kafka.
        """
        name = self._template.format(alias=self._alias, topic=topic)
        if len(name) > MAX_NAME:
            raise SettingError(
                f"rename: the copy of {topic} would be called {name}: a topic's name has at most {MAX_NAME} "
                "characters; take a shorter template, or leave the topic out with topics.exclude"
            )
        return name


def check_template(template: str) -> str:
    """Return a template for names, which has ``{topic}`` and perhaps ``{alias}``.

    A template without ``{topic}`` is allowed, too: it merges topics into one.

    :raises SettingError: it has another field, or characters that a topic's name cannot have.
    """
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise SettingError(f"rename={template}: {error}") from None
    literal = "".join(text for text, _, _, _ in pieces)
    fields = {field for _, field, _, _ in pieces if field is not None}
    odd = [form for _, field, form, convert in pieces if field is not None and (form or convert)]
    if not fields <= FIELDS or odd or (literal and not LEGAL.fullmatch(literal)) or not template:
        raise SettingError(
            f"rename={template}: the value must be a topic's name in which {{alias}} and {{topic}} stand for "
            "those of the source, {alias}.{topic} for example"
        )
    return template


def compiled(setting: str, expression: str) -> re.Pattern[str]:
    """Return a regular expression; commas separate alternatives, as in MirrorMaker 2.

    :raises SettingError: it is none.
    """
    try:
        return re.compile("|".join(f"(?:{one.strip()})" for one in split_alternatives(expression)))
    except re.error as error:
        raise SettingError(f"{setting}={expression}: no regular expression: {error}") from None


def split_alternatives(expression: str) -> list[str]:
    """Split at commas that are not within brackets or braces."""
    parts, depth, current = [], 0, ""
    for at, character in enumerate(expression):
        escaped = at > 0 and expression[at - 1] == "\\"
        if character in "([{" and not escaped:
            depth += 1
        elif character in ")]}" and not escaped:
            depth -= 1
        if character == "," and depth <= 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in [*parts, current] if part.strip()]
