"""The part of ``kafkatx audit`` that compares tiers: ``--way`` and ``--compare``. Reads audit topics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.errors import KafkaTXError
from kafkatx.names import counted, verb

if TYPE_CHECKING:
    from kafkatx.audit.tallies import Tallies, Tally
    from kafkatx.audit.way import Step, WayWindow
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.audit.tiers import Tier


@attrs.frozen
class Asked:
    """The options of the command that tiers are compared by; times are in ms."""

    topics: Collection[str]
    compared: Sequence[str]
    from_ms: int | None
    until_ms: int | None
    window_ms: int | None
    settle_ms: int
    now_ms: int
    show_all: bool
    as_json: bool
    header: bool


def parse_compared(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Split the two names of ``--compare``.

    :raises click.BadParameter: there are not two of them.
    """
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise click.BadParameter("give two tiers: producer,broker say", ctx, option)
    return names


def compare_tiers(clusters: Sequence[Cluster], audit_topic: str, asked: Asked) -> bool:
    """Print the way of each topic; return True if something is wrong.

    :param clusters: the clusters whose audit topics are read, the one of the producers first.
    :raises KafkaTXError: nothing was announced, or there is no such tier.
    """
    from kafkatx.audit.topics import read_tallies
    from kafkatx.cli.output.terminal import print_rows, say
    from kafkatx.cli.pipeline.findings import clock_remarks
    from kafkatx.cli.pipeline.way_rows import COLUMNS

    tallies = read_tallies(clusters, audit_topic)
    topics = sorted(asked.topics or (topic for topic in tallies.topics() if not _of_a_mirror(topic, tallies)))
    window_ms = tallies.window_ms(topics, asked.window_ms)
    if window_ms is None:
        told = " or ".join(asked.topics) or "any topic"
        raise KafkaTXError(f"nothing about {told} was announced in {audit_topic}")
    if asked.header and not asked.as_json and not _is_terminal():
        print_rows([], COLUMNS)
    wrong = False
    for topic in topics:
        wrong |= _show(tallies, topic, clusters[0], window_ms, asked)
    for remark in clock_remarks(tallies.clocks):
        say(remark)
    if tallies.unreadable:
        say(
            f"{counted(tallies.unreadable, 'record')} of the audit topic"
            f" {verb(tallies.unreadable, 'is', 'are')} not announcements"
        )
    return wrong


def _of_a_mirror(topic: str, tallies: Tallies) -> bool:
    """Return True if a topic is a mirror's own, and none but brokers have counted it: it has no way."""
    from kafkatx.clientcore.audit.tiers import BROKER
    from kafkatx.mirror.core.names import INTERNAL

    return INTERNAL.fullmatch(topic) is not None and {tier.kind for tier in tallies.tiers(topic)} == {BROKER}


def _is_terminal() -> bool:
    import sys

    from kafkatx.cli.output.terminal import interactive

    return interactive(sys.stdout)


def _show(tallies: Tallies, topic: str, cluster: Cluster, window_ms: int, asked: Asked) -> bool:
    """Print one topic; return True if something is wrong."""
    from kafkatx.audit.way import judge
    from kafkatx.cli.output.terminal import say
    from kafkatx.cli.pipeline.findings import findings, remarks
    from kafkatx.cli.pipeline.way_rows import print_way

    steps = _steps(tallies, topic, asked.compared)
    counts = {step.tier: _counts(tallies, step.tier, topic, cluster, window_ms, asked) for step in steps}
    windows = [
        window
        for window in judge(topic, steps, counts, window_ms, asked.now_ms, asked.settle_ms)
        if _is_between(window, asked)
    ]
    shown = [window for window in windows if asked.show_all or window.open or window.faults]
    print_way(topic, steps, windows, shown, asked.as_json)
    for sentence in (*findings(topic, steps, windows), *remarks(topic, steps, tallies)):
        say(sentence)
    return any(window.wrong for window in windows)


def _is_between(window: WayWindow, asked: Asked) -> bool:
    late_enough = asked.from_ms is None or window.start_ms >= asked.from_ms
    return late_enough and (asked.until_ms is None or window.start_ms < asked.until_ms)


def _steps(tallies: Tallies, topic: str, compared: Sequence[str]) -> list[Step]:
    """Return the way of a topic, or the two tiers to compare.

    :raises KafkaTXError: there is no such tier, or more than one.
    """
    from kafkatx.audit.way import Step, way

    tiers = tallies.tiers(topic)
    if not compared:
        return way(tiers)
    one, other = (_named(name, tiers, topic) for name in compared)
    return [Step(one), Step(other, (one,))]


def _named(name: str, tiers: Sequence[Tier], topic: str) -> Tier:
    from kafkatx.audit.way import TOPIC
    from kafkatx.clientcore.audit.tiers import Tier

    if name == TOPIC:
        return Tier(TOPIC)
    found = [tier for tier in tiers if name in (str(tier), f"{tier}@{tier.cluster}")]
    found = found or [tier for tier in tiers if tier.kind == name]
    if len(found) != 1:
        known = ", ".join(sorted({str(tier) for tier in tiers})) or "none"
        many = "more than one tier is" if found else "no tier is"
        raise KafkaTXError(
            f"{topic}: {many} called {name}; announced are {known}, and {TOPIC} is counted now"
        )
    return found[0]


def _counts(
    tallies: Tallies, tier: Tier, topic: str, cluster: Cluster, window_ms: int, asked: Asked
) -> dict[int, Tally]:
    from kafkatx.audit.tallies import Tally
    from kafkatx.audit.topics import count_topic
    from kafkatx.audit.way import TOPIC

    if tier.kind != TOPIC:
        return tallies.counts(tier, topic, window_ms)
    found = count_topic(cluster, topic, window_ms, asked.from_ms)
    return {start_ms: Tally(count.found) for (_, start_ms), count in found.items()}
