"""Members for tests of assignors, and checks of assignments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from hypothesis import strategies as st

from kafkatx.clientcore.group.assignors import Assignments, Assignor, Member, PartitionCounts
from kafkatx.types import TopicPartition

TOPICS = "tuvw"
IDS = "abcdefgh"


def members(**topics: Collection[str]) -> dict[str, Member]:
    """Return new members by id, with their subscriptions."""
    return {member_id: Member(member_id, frozenset(wanted)) for member_id, wanted in topics.items()}


def numbers(given: Assignments) -> dict[str, list[str]]:
    """Return an assignment in short form: ``{"a": ["t0", "t1"]}``."""
    return {
        member_id: [f"{at.topic}{at.partition}" for at in sorted(mine)] for member_id, mine in given.items()
    }


def after(
    assignor: Assignor, known: Mapping[str, Member], given: Assignments, generation: int
) -> dict[str, Member]:
    """Return the members in the next rebalance, with their partitions of this one."""
    return {
        member_id: member._replace(
            owned=tuple(given[member_id]),
            generation=generation,
            user_data=assignor.user_data(given[member_id], generation) or b"",
        )
        for member_id, member in known.items()
    }


def valid(known: Mapping[str, Member], partitions: PartitionCounts, given: Assignments) -> bool:
    """Return True if existing partitions are assigned once, to subscribed members only."""
    all_given = [at for mine in given.values() for at in mine]
    return (
        given.keys() == known.keys()
        and len(set(all_given)) == len(all_given)
        and all(at.topic in known[one].topics for one, mine in given.items() for at in mine)
        and all(0 <= at.partition < partitions.get(at.topic, 0) for at in all_given)
    )


def complete(known: Mapping[str, Member], partitions: PartitionCounts, given: Assignments) -> bool:
    """Return True if all partitions of subscribed topics are assigned."""
    wanted = {topic for member in known.values() for topic in member.topics}
    every = {TopicPartition(t, n) for t, count in partitions.items() if t in wanted for n in range(count)}
    return {at for mine in given.values() for at in mine} == every


def even(known: Mapping[str, Member], given: Assignments) -> bool:
    """Return True if no move of a partition would make the assignment more even."""
    return not any(
        len(given[taker]) + 1 < len(given[giver])
        and any(at.topic in known[taker].topics for at in given[giver])
        for one, other in combinations(known, 2)
        for giver, taker in ((one, other), (other, one))
    )


def kept(known: Mapping[str, Member], given: Assignments) -> int:
    """Return the number of partitions that stayed with their owners."""
    return sum(len(set(member.owned) & set(given[member_id])) for member_id, member in known.items())


def groups(same: bool) -> st.SearchStrategy[dict[str, Member]]:
    """Generate members, some of them static, with the same subscriptions or with different ones."""
    one = st.frozensets(st.sampled_from(TOPICS), min_size=1)

    def of(topics: frozenset[str]) -> st.SearchStrategy[dict[str, Member]]:
        wanted = st.just(topics) if same else one
        chosen = st.dictionaries(
            st.sampled_from(IDS), st.tuples(wanted, st.booleans()), min_size=1, max_size=len(IDS)
        )
        return chosen.map(
            lambda drawn: {
                name: Member(name, topics, f"i{name}" if static else None)
                for name, (topics, static) in drawn.items()
            }
        )

    return one.flatmap(of)


def counts() -> st.SearchStrategy[dict[str, int]]:
    """Generate partition counts of topics; some do not exist."""
    return st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), max_size=len(TOPICS))
