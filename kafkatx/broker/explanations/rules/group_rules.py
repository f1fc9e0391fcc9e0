"""Rules about a group: members, rebalances, and where its lag is. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.broker.explanations.facts import Explanation, Facts, GroupFacts, PartitionFacts, Severity
from kafkatx.broker.explanations.rules.texts import evidence, named, number, seconds
from kafkatx.names import counted, verb

LONG_REBALANCE_MS = 5000
"""A rebalance that takes longer holds up all members."""

RECENT_MS = 60_000
"""A rebalance that ended less than this long ago explains a lag."""

MUCH_LAG = 1000
"""Records from which a lag is worth an explanation of where it is."""

HOT_SHARE = 0.8
"""The share of the lag that makes one partition of several a hot one."""

HOT_OF = 3
"""Partitions among which one can be hot."""

SMALL_BATCH = 5
"""Records in a batch, on average, below which batches are small, if there are many of them."""

MANY_BATCHES = 200
"""Batches a second from which small ones are a burden."""

OLD_COMMIT_MS = 60_000
"""A group that has lag and has committed nothing for so long does not get on."""

REBALANCING = {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}


def no_members(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if a group has lag and no members."""
    group = facts.group
    if group is None or group.members or group.state in REBALANCING:
        return
    age_ms = group.state_age_ms
    has = "has no members" if age_ms is None else f"has had no members for {seconds(age_ms)}"
    lag = group.lag
    yield Explanation(
        "no-members",
        Severity.PROBLEM if lag else Severity.NOTE,
        f"The group {has}, so its {counted(lag, 'record')} of lag are read by no consumer."
        if lag
        else f"The group {has}; it has no lag either.",
        "Start its consumers; if they run, look into their logs for the reason why they have left.",
        evidence(state=group.state, lag=lag),
    )


def rebalance(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem while a rebalance goes on, a hint after one."""
    group = facts.group
    if group is None:
        return
    age_ms = group.state_age_ms
    known = evidence(state=group.state, state_age_ms=age_ms, rebalances_in_window=group.rebalances)
    members = counted(len(group.members), "member")
    if group.state in REBALANCING:
        long = age_ms is not None and age_ms >= LONG_REBALANCE_MS
        since = "" if age_ms is None else f" for {seconds(age_ms)}"
        yield Explanation(
            "rebalance",
            Severity.PROBLEM if long or group.rebalances else Severity.HINT,
            f"A rebalance has been going on{since} ({group.state}, {members}):"
            " members wait for each other, and read little or nothing.",
            "A member that is slow to poll holds it up until max.poll.interval.ms or its session has ended;"
            " the cooperative-sticky assignor or group.protocol=consumer let the others go on.",
            known,
        )
    elif group.rebalances or (age_ms is not None and age_ms < RECENT_MS and group.members):
        when = "in the last seconds" if group.rebalances else f"{seconds(age_ms or 0)} ago"
        yield Explanation(
            "rebalance",
            Severity.HINT,
            f"The group has rebalanced {when} ({members}): consumers begin anew after that.",
            "If this happens often, members join and leave: give them group.instance.id, and time enough in"
            " max.poll.interval.ms and session.timeout.ms.",
            known,
        )


def too_few_members(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if lag grows, and there are partitions for more members."""
    group = facts.group
    if group is None or not group.members or group.state in REBALANCING:
        return
    behind = [one for one in group.partitions if one.lag and one.here]
    produced, consumed = (sum(getattr(one, name) for one in behind) for name in ("produced", "consumed"))
    members, partitions = len(group.members), len(group.partitions)
    if not behind or consumed >= produced or not consumed:
        return
    window_s = facts.broker.window_s
    growth = (produced - consumed) / window_s
    known = evidence(
        produced_per_s=produced / window_s,
        consumed_per_s=consumed / window_s,
        members=members,
        partitions=partitions,
    )
    if members < partitions:
        yield Explanation(
            "too-few-members",
            Severity.PROBLEM,
            f"The lag grows by {number(round(growth))} records a second: {counted(members, 'member')}"
            f" {verb(members, 'shares', 'share')} {counted(partitions, 'partition')}.",
            f"Start more consumers of the group, up to {number(partitions)}.",
            known,
        )
    else:
        yield Explanation(
            "too-few-partitions",
            Severity.PROBLEM,
            f"The lag grows by {number(round(growth))} records a second, and each member has at most one"
            " partition: more members would be idle.",
            "Add partitions to the topic (`kafkatx topics alter`), or make the work per record cheaper.",
            known,
        )


def idle_members(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if members have no partition."""
    group = facts.group
    if group is None or group.state in REBALANCING:
        return
    idle = [one for one in group.members if not one.partitions]
    if idle and len(idle) < len(group.members):
        yield Explanation(
            "idle-members",
            Severity.HINT,
            f"{counted(len(idle), 'member')} of {number(len(group.members))}"
            f" {verb(len(idle), 'has', 'have')} no partition and {verb(len(idle), 'does', 'do')} nothing"
            f" ({named(sorted({one.client_id for one in idle}))}).",
            "There are more members than partitions: add partitions, or stop them.",
            evidence(idle=len(idle), members=len(group.members), partitions=len(group.partitions)),
        )


def hot_partition(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if one partition of several has most of the lag."""
    group = facts.group
    if group is None or len(group.partitions) < HOT_OF or group.lag < MUCH_LAG:
        return
    hot = max(group.partitions, key=lambda one: one.lag)
    share = hot.lag / group.lag
    if share < HOT_SHARE:
        return
    whose = f"; its consumer is {hot.client_id}" if hot.client_id else "; no member has it"
    produced = sum(one.produced for one in group.partitions)
    cause = (
        "It also gets most of the new records: choose keys that spread them."
        if produced and hot.produced / produced >= HOT_SHARE
        else "It gets no more records than others: look at its consumer."
    )
    yield Explanation(
        "hot-partition",
        Severity.PROBLEM,
        f"{share:.0%} of the lag are in one partition of {number(len(group.partitions))}, {hot}{whose}.",
        cause,
        evidence(lag=hot.lag, lag_of_group=group.lag, produced=hot.produced, produced_of_group=produced),
    )


def no_progress(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if members have partitions with lag and commit nothing."""
    group = facts.group
    if group is None or not group.members or group.state in REBALANCING:
        return
    stuck = [one for one in group.partitions if _is_stuck(one)]
    if stuck:
        oldest_ms = max(one.commit_age_ms or 0 for one in stuck)
        yield Explanation(
            "no-progress",
            Severity.PROBLEM,
            f"No offset of {named(stuck)} has been committed for {seconds(oldest_ms)}, and there are records"
            " to read.",
            "The consumer hangs in a record, cannot process it, or does not commit: look into its log."
            f" Its next record is at offset {stuck[0].committed} of {stuck[0]}.",
            evidence(partitions=len(stuck), lag=sum(one.lag for one in stuck), commit_age_ms=oldest_ms),
        )


def _is_stuck(one: PartitionFacts) -> bool:
    age_ms = one.commit_age_ms
    readable = one.lag > one.held_back
    return bool(one.client_id) and readable and not one.consumed and (age_ms or 0) >= OLD_COMMIT_MS


def out_of_range(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if retention has deleted records that the group had not read."""
    group = facts.group
    if group is None:
        return
    lost = [one for one in group.partitions if one.here and one.committed < one.log_start_offset]
    if lost:
        records = sum(one.log_start_offset - one.committed for one in lost)
        yield Explanation(
            "deleted-unread",
            Severity.PROBLEM,
            f"{number(records)} offsets of {named(lost)} were deleted before the group has read them.",
            "Its consumers go on by auto.offset.reset. Keep records longer (retention.ms, retention.bytes),"
            " or read faster.",
            evidence(partitions=len(lost), offsets=records),
        )


def up_to_date(facts: Facts) -> Iterator[Explanation]:
    """Yield a note if there is no lag: the group waits for records."""
    group = facts.group
    if group is None or not group.members or not group.partitions or group.lag:
        return
    parked = sum(one.parked for one in group.partitions)
    yield Explanation(
        "waits-for-records",
        Severity.NOTE,
        "The group has read everything; its fetches wait for new records, up to fetch.max.wait.ms each.",
        "",
        evidence(lag=0, waiting_fetches=parked),
    )


def left_out(group: GroupFacts) -> str:
    """Return a sentence about partitions above the bound; "" if there are none."""
    if not group.partitions_left_out:
        return ""
    return f"{number(group.partitions_left_out)} further partitions were not looked at."


GROUP_RULES = (
    no_members,
    rebalance,
    too_few_members,
    idle_members,
    hot_partition,
    no_progress,
    out_of_range,
    up_to_date,
)
