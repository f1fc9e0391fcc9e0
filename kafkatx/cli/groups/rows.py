"""The forms in which ``kafkatx groups`` shows groups: tables for a person, lines or JSON for a program."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import print_rows, print_table, show_folded, show_json
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.blocking.admin.reset import Move
    from kafkatx.clientcore.admin.group_description import GroupDescription, Member
    from kafkatx.clientcore.admin.lag import Progress
    from kafkatx.types import TopicPartition

BAR_CELLS = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"
_UUID_TAIL = re.compile(r"(?<=[0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The rest of a UUID after its first eight digits, which are enough in a table."""

NONE = "-"
"""Printed for a missing field in lines for a program."""


def bar(value: int, largest: int, cells: int = BAR_CELLS) -> str:
    """Return a bar for *value*, where *largest* fills all cells; a value above 0 is always visible."""
    if value <= 0 or largest <= 0:
        return ""
    eighths = max(1, value * cells * 8 // largest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def number_ranges(numbers: Iterable[int]) -> str:
    """Return ``0-2,5`` for 0, 1, 2, 5."""
    spans = []
    # A number and its place in the order differ by the same amount all through a run.
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        spans.append(f"{found[0]}-{found[-1]}" if len(found) > 1 else str(found[0]))
    return ",".join(spans)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of the partitions by topic."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(number)
    return topics


def partitions_text(partitions: Iterable[TopicPartition]) -> str:
    """Return ``t:0-2,5 u:0`` for these partitions."""
    return " ".join(f"{topic}:{number_ranges(numbers)}" for topic, numbers in by_topic(partitions).items())


def total_lag(rows: Iterable[Progress]) -> int:
    """Return the number of records that the group has not read, as far as it is known."""
    return sum(row.lag for row in rows if row.lag is not None)


def headline(group: GroupDescription, rows: Sequence[Progress]) -> str:
    """Return one line about the state of a group."""
    count = len(group.members)
    members = counted(count, "member") if count else "no members"
    node = group.coordinator
    parts = [
        group.state,
        f"{group.type} group" if group.protocol_type in ("consumer", "") else f"{group.protocol_type} group",
        members,
        *([f"assigned by {group.assignor}"] if group.assignor else []),
        f"coordinator {node.id} at {node.host}:{node.port}",
        f"{total_lag(rows):,} behind",
    ]
    return f"group {group.group_id}: {', '.join(parts)}"


def print_progress(group: GroupDescription, rows: Sequence[Progress]) -> None:
    """Draw a table of partitions, offsets and lag with a bar, and members."""
    show_folded(headline(group, rows))
    if not rows:
        return
    largest = max((row.lag or 0 for row in rows), default=0)
    table = [
        (*_offsets(row, ""), bar(row.lag or 0, largest), _reader(row.member) if row.member else "")
        for row in rows
    ]
    columns = ["topic", "partition#", "committed#", "end#", "lag#", "|", "member"]
    print_table(columns, table)


def _reader(member: Member) -> str:
    """Return a short text that only this member has: ``client-6f70c33c /10.0.0.7``."""
    name = member.instance_id or _UUID_TAIL.sub("", member.member_id)
    return f"{name} {member.host}"


def _offsets(row: Progress, none: str) -> tuple[object, ...]:
    committed = none if row.committed is None else row.committed.offset
    end, lag = (none if number is None else number for number in (row.end, row.lag))
    return (row.at.topic, row.at.partition, committed, end, lag)


def print_progress_lines(group: GroupDescription, rows: Iterable[Progress], header: bool) -> None:
    """Print a line for each partition, in the order of Apache Kafka's own tool.

    Group, topic, partition, committed offset, end, lag, member id, host, client id.
    """
    table = []
    for row in rows:
        member = row.member
        who = (NONE, NONE, NONE) if member is None else (member.member_id, member.host, member.client_id)
        table.append((group.group_id, *_offsets(row, NONE), *who))
    columns = ("group", "topic", "partition", "committed", "end", "lag", "member_id", "host", "client_id")
    print_rows(table, columns if header else ())


def print_members(group: GroupDescription, rows: Sequence[Progress]) -> None:
    """Draw a table of members and their assignments."""
    show_folded(headline(group, rows))
    table = [
        (m.member_id, m.instance_id or "", m.host, len(m.partitions), partitions_text(m.partitions))
        for m in group.members
    ]
    if table:
        print_table(["member", "instance", "host", "partitions#", "assignment"], table)


def print_member_lines(group: GroupDescription, header: bool) -> None:
    """Print a line for each member: group, ids, host, number of partitions, partitions."""
    columns = ("group", "member_id", "instance_id", "client_id", "host", "count", "partitions")
    print_rows(
        [
            (
                group.group_id,
                m.member_id,
                m.instance_id or NONE,
                m.client_id,
                m.host,
                len(m.partitions),
                partitions_text(m.partitions) or NONE,
            )
            for m in group.members
        ],
        columns if header else (),
    )


def print_json(group: GroupDescription, rows: Sequence[Progress]) -> None:
    """Print all that is known of a group as one object."""
    node = group.coordinator
    fields: dict[str, object] = {
        "group": group.group_id,
        "state": group.state,
        "type": group.type,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "coordinator": {"id": node.id, "host": node.host, "port": node.port},
        "lag": total_lag(rows),
        "members": [
            {
                "member_id": m.member_id,
                "instance_id": m.instance_id,
                "client_id": m.client_id,
                "host": m.host,
                "epoch": m.epoch,
                "partitions": by_topic(m.partitions),
            }
            for m in group.members
        ],
        "offsets": [_json_offset(row) for row in rows],
    }
    show_json(fields)


def _json_offset(row: Progress) -> dict[str, object]:
    return {
        "topic": row.at.topic,
        "partition": row.at.partition,
        "committed": None if row.committed is None else row.committed.offset,
        "metadata": None if row.committed is None else row.committed.metadata,
        "end": row.end,
        "lag": row.lag,
        "member_id": None if row.member is None else row.member.member_id,
    }


def print_moves(moves: Iterable[Move], as_json: bool, at_terminal: bool, header: bool = False) -> None:
    """Print the plan of a reset: topic, partition, old offset, new offset, lag."""
    if as_json:
        for move in moves:
            fields = {"topic": move.at.topic, "partition": move.at.partition}
            show_json(fields | {"old": move.old, "new": move.new, "lag": move.lag})
        return
    none = "" if at_terminal else NONE
    columns = ["topic", "partition#", "old#", "new#", "lag#"]
    table = [(*move.at, none if move.old is None else move.old, move.new, move.lag) for move in moves]
    if at_terminal:
        print_table(columns, table)
    else:
        print_rows(table, columns if header else ())
