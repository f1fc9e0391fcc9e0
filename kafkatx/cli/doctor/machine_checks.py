"""Checks of a process and its machine, from facts of :mod:`kafkatx.machine.facts`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkatx.cli.doctor.result import Finding, hint, ok, wrong
from kafkatx.machine import facts as m

LOW_LIMIT = 10_000
"""Open files that a broker with many partitions or clients uses up."""

USED_SHARE = 0.8
FULL_SHARE, TIGHT_SHARE = 0.05, 0.15
"""Shares of free room below which a volume is full, or becomes so."""

MUCH_SWAPPINESS = 10
MUCH_DIRTY = 40
GIB = 1 << 30


def check_machine(facts: Mapping[str, str], who: str) -> Iterator[Finding]:
    """Check the facts of one broker, or of the machine here.

    :param who: it, as sentences have it: ``broker 1``.
    """
    yield from _open_files(facts, who)
    yield from _volumes(facts, who)
    yield from _memory(facts, who)


def _number(facts: Mapping[str, str], name: str) -> int | None:
    text = facts.get(name, "")
    return int(text) if text.isdecimal() else None


def _open_files(facts: Mapping[str, str], who: str) -> Iterator[Finding]:
    limit, used = _number(facts, m.OPEN_FILES_LIMIT), _number(facts, m.OPEN_FILES)
    if limit is None:
        return
    raise_it = "Raise it: LimitNOFILE=1048576 in systemd, or `ulimit -n`."
    if used is not None and used >= limit * USED_SHARE:
        yield wrong("open-files", f"{who}: {used:,} of {limit:,} open files are in use", raise_it)
    elif limit < LOW_LIMIT:
        yield hint(
            "open-files",
            f"{who}: the limit of open files is {limit:,}; a partition takes three or more",
            raise_it,
        )
    else:
        yield ok("open-files", f"{who}: the limit of open files is {limit:,}")


def _volumes(facts: Mapping[str, str], who: str) -> Iterator[Finding]:
    for path, room in sorted(m.volumes(facts).items()):
        free, every = room.get(m.FREE_BYTES, 0), room.get(m.ALL_BYTES, 0)
        share = free / every if every else 1.0
        text = f"{who}: {path} has {free / GIB:.1f} GiB free ({share:.0%})"
        fix = "Free room, or add a disk; retention.bytes and retention.ms bound what topics keep."
        if share < FULL_SHARE:
            yield wrong("disk", text, fix)
        elif share < TIGHT_SHARE:
            yield hint("disk", text, fix)
        else:
            yield ok("disk", text)
        inodes, all_inodes = room.get(m.FREE_INODES, 0), room.get(m.ALL_INODES, 0)
        if all_inodes and inodes < all_inodes * FULL_SHARE:
            yield wrong(
                "inodes",
                f"{who}: {path} has {inodes:,} of {all_inodes:,} inodes free",
                "Each segment of a partition takes four files: larger segment.bytes, or another file system.",
            )


def _memory(facts: Mapping[str, str], who: str) -> Iterator[Finding]:
    swapped = _number(facts, m.SWAPPED_BYTES)
    if swapped:
        yield wrong(
            "swap",
            f"{who}: {swapped >> 20:,} MiB of the broker are swapped out",
            "Give the machine more memory, or vm.swappiness=1: a broker that waits for swap answers nobody.",
        )
    swappiness = _number(facts, m.SWAPPINESS)
    if _number(facts, m.SWAP_BYTES) and swappiness is not None and swappiness > MUCH_SWAPPINESS:
        yield hint("swap", f"{who}: there is swap, and vm.swappiness is {swappiness}", "Set vm.swappiness=1.")
    dirty = _number(facts, m.DIRTY_RATIO)
    if dirty is not None and dirty > MUCH_DIRTY:
        yield hint(
            "dirty-ratio",
            f"{who}: vm.dirty_ratio is {dirty}: the kernel may hold up a writer for long when it writes back",
            "Set vm.dirty_background_ratio=5 and vm.dirty_ratio to 20 or less.",
        )
    if "[always]" in facts.get(m.HUGE_PAGES, ""):
        yield hint(
            "huge-pages",
            f"{who}: transparent huge pages are always on, which costs memory and pauses",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
