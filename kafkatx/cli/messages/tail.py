"""``kafkatx tail``: print new messages of several topics, and filter them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

import attrs
import click

from kafkatx.cli.messages.consume import renderer
from kafkatx.cli.options.cluster import client_settings, cluster_options, first_contact
from kafkatx.cli.options.kafka_names import Option, names_argument
from kafkatx.cli.output.records import Rows
from kafkatx.cli.output.renderer import BadFormat
from kafkatx.cli.output.terminal import hint, readable_line, stdout_bytes

if TYPE_CHECKING:
    from kafkatx.client.threads import Admin, Consumer
    from kafkatx.clientcore.consumer.record import Record
    from kafkatx.types import TopicPartition

FORMAT = "%t\\t%p\\t%o\\t%k\\t%s\\n"
MOST_RECORDS = 1000
LOOK_S = 5.0
"""Interval between looks for new topics and partitions."""


@attrs.frozen
class Filter:
    """A filter of messages.

    :ivar value: pattern to find in the value, *key* in the key; None matches anything.
    :ivar inverted: choose the messages that do not match.
    """

    value: re.Pattern[bytes] | None = None
    key: re.Pattern[bytes] | None = None
    inverted: bool = False

    def matches(self, record: Record) -> bool:
        """Return True if the filter chooses *record*; a null is searched as an empty text."""
        found = all(
            pattern is None or pattern.search(data or b"")
            for pattern, data in ((self.value, record.value), (self.key, record.key))
        )
        return found is not self.inverted

    def choose(self, found: Mapping[TopicPartition, list[Record]]) -> dict[TopicPartition, list[Record]]:
        """Return the records that match."""
        if self.value is None and self.key is None:
            return dict(found)
        chosen = {place: list(filter(self.matches, records)) for place, records in found.items()}
        return {place: records for place, records in chosen.items() if records}


@attrs.frozen
class Wanted:
    """The topics to read: those with these names, or all whose whole name matches."""

    names: Sequence[str]
    pattern: re.Pattern[str] | None

    def partitions(self, admin: Admin) -> set[TopicPartition]:
        """Return their partitions, as the cluster has them now.

        :raises UnknownTopic: there is no topic of a name.
        """
        from kafkatx.clientcore.errors import UnknownTopic
        from kafkatx.types import TopicPartition

        there = {topic.name: topic for topic in admin.list_topics(internal=self.pattern is None)}
        if self.pattern is None:
            chosen = self.names
        else:
            chosen = [name for name in there if self.pattern.fullmatch(name)]
        for name in chosen:
            if name not in there:
                raise UnknownTopic(name)
        return {TopicPartition(name, number) for name in chosen for number in there[name].partitions}


def _compiled(option: str, text: str | None, flags: int) -> re.Pattern[bytes] | None:
    try:
        return None if text is None else re.compile(os.fsencode(text), flags)
    except re.error as error:
        raise click.UsageError(f"{option} {text}: {error}") from error


@click.command(
    epilog="""\b
Examples:
  kafkatx tail orders payments
  kafkatx tail --regex 'log-.*' --match ERROR --last 10
"""
)
@names_argument("topics", "--topic", nargs=-1, metavar="[TOPIC]...")
@click.option(
    "-r",
    "--regex",
    cls=Option,
    aliases=["--include"],
    metavar="REGEX",
    help="Pattern for the whole names of topics; new topics are read, too.",
)
@click.option("-m", "--match", metavar="REGEX", help="Pattern to find in the value of a message.")
@click.option("-k", "--match-key", metavar="REGEX", help="Pattern to find in the key of a message.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore the case of letters in these patterns.")
@click.option("-v", "--invert", is_flag=True, help="Print the messages that do not match.")
@click.option(
    "-n",
    "--last",
    metavar="COUNT",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Number of old messages of each partition to print first.",
)
@click.option(
    "-c",
    "--count",
    cls=Option,
    aliases=["--max-messages"],
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Number of messages to stop after.",
)
@click.option(
    "-f", "--format", "format_text", metavar="FORMAT", help="Format of a message, see `kafkatx consume -h`."
)
@click.option("-J", "--json", "as_json", is_flag=True, help="Print one JSON object a message.")
@cluster_options
def tail(
    topics: tuple[str, ...],
    regex: str | None,
    match: str | None,
    match_key: str | None,
    ignore_case: bool,
    invert: bool,
    last: int,
    count: int | None,
    format_text: str | None,
    as_json: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Print new messages of topics until Ctrl-C.

    Each message is a line: topic, partition, offset, key and value, with tabs between them. No consumer group
    is joined.
    """
    if bool(topics) == (regex is not None):
        raise click.UsageError("give TOPIC..., or --regex for their names")
    if as_json and format_text is not None:
        raise click.UsageError("--json and --format exclude each other")
    flags = re.IGNORECASE if ignore_case else 0
    chosen = Filter(_compiled("--match", match, flags), _compiled("--match-key", match_key, flags), invert)
    _compiled("--regex", regex, 0)
    wanted = Wanted(topics, None if regex is None else re.compile(regex))
    make = partial(renderer, format_text=format_text or FORMAT, key=None, end="", clean=readable_line)
    try:
        make("")
    except BadFormat as error:
        raise click.UsageError(f"--format {error}") from error
    from kafkatx.cli.process.warnings import warnings_shown
    from kafkatx.client.threads import Admin, Consumer

    settings = client_settings(bootstrap, timeout)
    with (
        warnings_shown(),
        first_contact(bootstrap) as contact,
        Consumer(settings, allow_auto_create_topics=False, auto_offset_reset="earliest") as consumer,
        Admin(beside=consumer) as admin,
    ):
        rows = Rows(consumer, None if as_json else make)
        consumer.assign(wanted.partitions(admin))
        contact.over()
        if not last:
            hint("only new messages, until Ctrl-C (-n COUNT: the last ones, too)")
        follow(consumer, admin, wanted, last, chosen, rows, count, stdout_bytes())


def follow(
    consumer: Consumer,
    admin: Admin,
    wanted: Wanted,
    last: int,
    chosen: Filter,
    rows: Rows,
    count: int | None,
    out: IO[bytes],
) -> None:
    """Print new messages of the assigned partitions and of new ones, until *count* are printed."""
    _seek(consumer, last)
    looked = time.monotonic()
    left = count
    while left is None or left > 0:
        wait_s = looked + LOOK_S - time.monotonic()
        if wait_s <= 0:
            consumer.assign(wanted.partitions(admin))  # new partitions are read from their beginning
            looked = time.monotonic()
            continue
        found = chosen.choose(consumer.getmany(MOST_RECORDS, round(wait_s * 1000)))
        if left is not None:
            found = first(found, left)
            left -= sum(map(len, found.values()))
        if found:
            out.write(rows.render(found))
            out.flush()


def _seek(consumer: Consumer, last: int) -> None:
    """Seek to the ends of the partitions, or *last* messages before them."""
    places = consumer.assignment()
    if not places:
        return
    ends = consumer.end_offsets(*places)
    starts = consumer.beginning_offsets(*places)
    for place, end in ends.items():
        consumer.seek(place, max(starts[place], end - last))


def first(found: Mapping[TopicPartition, list[Record]], most: int) -> dict[TopicPartition, list[Record]]:
    """Return the first records, *most* in all."""
    kept = {}
    for place, records in found.items():
        if most <= 0:
            break
        kept[place] = records[:most]
        most -= len(kept[place])
    return kept
