"""Explanations why a group or a client is slow: for the console, and for requests.

Two observations some seconds apart give the facts, and all rules look at them. It touches the clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.task import deferLater

from kafkatx.broker.broker import Broker
from kafkatx.broker.explanations.facts import Explanation, Facts, Severity
from kafkatx.broker.explanations.observation import Observation, client_facts, group_facts, is_group, observe
from kafkatx.broker.explanations.rules.client_rules import CLIENT_RULES
from kafkatx.broker.explanations.rules.group_rules import GROUP_RULES, left_out
from kafkatx.broker.explanations.rules.partition_rules import PARTITION_RULES
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, RequestError

WINDOW_S = 2.0
"""Seconds between the two observations."""

MOST_RUNNING = 16
"""Explanations that may be under way."""

RULES = (*GROUP_RULES, *PARTITION_RULES, *CLIENT_RULES)

NOTHING = Explanation("nothing-found", Severity.NOTE, "No rule has found anything that is slow here.")


async def explain_group(broker: Broker, group_id: str) -> list[Explanation]:
    """Return sentences about a group, the heaviest first.

    It takes :data:`WINDOW_S`.

    :raises RequestError: GROUP_ID_NOT_FOUND: this broker coordinates no such group;
        THROTTLING_QUOTA_EXCEEDED: too many explanations are under way.
    """
    if not is_group(broker, group_id):
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {quoted(group_id)}")
    before, after = await _observe(broker, group_id)
    return explain(group_facts(broker, group_id, before, after))


async def explain_client(broker: Broker, client_id: str) -> list[Explanation]:
    """Return sentences about a client id, as :func:`explain_group`."""
    before, after = await _observe(broker, None)
    return explain(client_facts(broker, client_id, before, after))


async def _observe(broker: Broker, group_id: str | None) -> tuple[Observation, Observation]:
    if broker.explained >= MOST_RUNNING:
        raise RequestError(
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
            f"{MOST_RUNNING} explanations are under way; try again in some seconds",
        )
    broker.explained += 1
    try:
        before = observe(broker, group_id)
        await deferLater(broker.clock, WINDOW_S)
        return before, observe(broker, group_id)
    finally:
        broker.explained -= 1


def explain(facts: Facts) -> list[Explanation]:
    """Return what all rules say about facts, the heaviest first; never nothing."""
    found: Sequence[Explanation] = [one for rule in RULES for one in rule(facts)]
    rest = "" if facts.group is None else left_out(facts.group)
    notes = [Explanation("left-out", Severity.NOTE, rest)] if rest else []
    if not any(one.severity > Severity.NOTE for one in found) and not _says_enough(found):
        notes.append(NOTHING)
    return sorted([*found, *notes], key=lambda one: -one.severity)


def _says_enough(found: Sequence[Explanation]) -> bool:
    return any(one.rule in ("waits-for-records", "no-members") for one in found)
