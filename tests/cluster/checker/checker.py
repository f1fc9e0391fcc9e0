"""All checks of one run. Pure: histories come as lines, of files or of lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from tests.cluster.checker.commits import Commits
from tests.cluster.checker.contents import Contents, acknowledged_count, check_lost, check_order
from tests.cluster.checker.findings import Findings
from tests.cluster.checker.outcomes import FAILED, Outcomes
from tests.cluster.checker.reads import Reads

Lines = Iterable[str]


@attrs.frozen
class Histories:
    """All histories of a run.

    :ivar final: of readers that read everything after the last send was settled, one for each topic.
    :ivar readers: of all others, members of groups included.
    """

    producers: Sequence[Lines]
    final: Sequence[Lines]
    readers: Sequence[Lines] = ()
    groups: Sequence[Lines] = ()


@attrs.frozen
class Figures:
    """Figures of a run.

    :ivar lost_of_one: records that acks=1 acknowledged and that are not in the log.
    :ivar repeated: records in the log again, of producers that are not idempotent.
    :ivar gaps_s: for each partition the longest time without an acknowledgement of acks=all.
    """

    sent: int
    acknowledged: int
    failed: int
    in_log: int
    read: int
    commits: int
    lost_of_one: int
    repeated: int
    gaps_s: Mapping[str, float]


def check(histories: Histories, findings: Findings) -> tuple[Figures, Contents]:
    """Check histories; return figures, and the contents of partitions to compare replicas' files with."""
    outcomes = Outcomes()
    for lines in histories.producers:
        outcomes.add(lines)
    contents = Contents(outcomes, findings)
    for lines in histories.final:
        contents.read_final(lines)
    lost_of_one = check_lost(outcomes, contents, findings)
    repeated = check_order(outcomes, contents, findings)
    reads = Reads(contents, findings)
    for lines in histories.readers:
        reads.check(lines)
    reads.check_groups()
    commits = Commits(contents, findings)
    for lines in histories.groups:
        commits.add(lines)
    commits.check()
    figures = Figures(
        sent=sum(len(producer.states) for producer in outcomes.producers),
        acknowledged=acknowledged_count(outcomes),
        failed=sum(producer.states.count(FAILED) for producer in outcomes.producers),
        in_log=sum(len(records) for _, _, records in contents.partitions()),
        read=reads.count,
        commits=commits.count,
        lost_of_one=lost_of_one,
        repeated=repeated,
        gaps_s=outcomes.gaps.longest(),
    )
    return figures, contents
