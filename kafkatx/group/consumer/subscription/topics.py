"""The topics that members subscribe to, by name and by regular expression. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import MayDescribe
from kafkatx.group.consumer.member import Metadata
from kafkatx.group.consumer.records import Kind, Resolved, TopicFacts
from kafkatx.group.consumer.state import GroupState
from kafkatx.group.consumer.subscription.automaton import Expression
from kafkatx.group.consumer.subscription.expression import ExpressionError
from kafkatx.types import ClusterState

MOST_COMPILED = 1000
"""Maximum number of cached compiled expressions, for all groups together."""

_compiled: dict[str, Expression] = {}


def compiled(regex: str) -> Expression:
    """Return the compiled expression, from a cache.

    :raises RequestError: INVALID_REGULAR_EXPRESSION; the message says what is wrong.
    """
    found = _compiled.get(regex)
    if found is None:
        if len(_compiled) >= MOST_COMPILED:
            _compiled.clear()
        try:
            found = _compiled[regex] = Expression(regex)
        except ExpressionError as error:
            raise _invalid(regex, error) from None
    return found


def _invalid(regex: str, error: ExpressionError) -> RequestError:
    return RequestError(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex[:200]}` is not a valid regular expression: {error}.",
    )


def find_topics(regex: str, names: Collection[str]) -> frozenset[str]:
    """Return the names that an expression matches.

    :raises RequestError: INVALID_REGULAR_EXPRESSION: it is invalid, or matching takes too much work.
    """
    expression = compiled(regex)
    try:
        return expression.among(names)
    except ExpressionError as error:
        raise _invalid(regex, error) from None


def subscribed_regexes(state: GroupState) -> set[str]:
    """Return the expressions in the members' subscriptions."""
    return {member.topic_regex for member in state.members.values() if member.topic_regex}


def remove_unused_regexes(state: GroupState) -> None:
    """Remove the expressions that no member subscribes to any more."""
    used = subscribed_regexes(state)
    for regex in [regex for regex in state.regexes if regex not in used]:
        state.put(Kind.REGEX, regex, None)


def resolve_regexes(
    state: GroupState,
    cluster: ClusterState,
    before: ClusterState | None,
    wall_ms: int,
    may_describe: MayDescribe | None = None,
) -> None:
    """Resolve every subscribed expression to the current topics, and remove those that are not used any more.

    :param before: the cluster at the last call: only newer topics are matched; None: match all.
    :param may_describe: only topics that pass it count; they are matched anew when ACLs have changed. None:
        all count.
    :raises RequestError: INVALID_REGULAR_EXPRESSION: a new one is invalid, or takes too much work.
    """
    remove_unused_regexes(state)
    if may_describe is not None and before is not None and before.acls is not cluster.acls:
        before = None
    for regex in sorted(subscribed_regexes(state)):
        known = state.regexes.get(regex)
        if known is None:
            topics = find_topics(regex, cluster.topics.keys())
        elif cluster is before:
            continue
        else:
            topics = _refreshed(regex, known.topics, cluster, before)
        if may_describe is not None:
            topics = frozenset(filter(may_describe, topics))
        if known is None or topics != known.topics:
            state.put(Kind.REGEX, regex, Resolved(topics, timestamp_ms=wall_ms))


def _refreshed(
    regex: str, known: frozenset[str], cluster: ClusterState, before: ClusterState | None
) -> frozenset[str]:
    """Return the topics that an expression matches now; the known ones if matching takes too much work."""
    names = cluster.topics.keys()
    new = names if before is None else names - before.topics.keys()
    try:
        found = find_topics(regex, new)
    except RequestError:
        return known & names
    return found if before is None else (known & names) | found


def topics_of(member: Metadata, state: GroupState) -> frozenset[str]:
    """Return the names of the topics that a member subscribes to, by name and by expression."""
    resolved = state.regexes.get(member.topic_regex) if member.topic_regex else None
    return member.topic_names if resolved is None else member.topic_names | resolved.topics


def facts_of(state: GroupState, cluster: ClusterState) -> dict[str, TopicFacts]:
    """Return the properties of every existing subscribed topic on which an assignment depends."""
    wanted: set[str] = set()
    for member in state.members.values():
        wanted |= topics_of(member, state)
    found = ((name, cluster.topics.get(name)) for name in wanted)
    return {
        name: TopicFacts(topic.topic_id, len(topic.partitions)) for name, topic in found if topic is not None
    }


def ids_of(names: frozenset[str], facts: dict[str, TopicFacts]) -> frozenset[uuid.UUID]:
    """Return the ids of the topics that exist."""
    return frozenset(facts[name].topic_id for name in names if name in facts)
