"""The manifests in the target directory: a chain without gaps, and a witness of its end.

::

    _kafkatx/commits/000000000006.json
    _kafkatx/commits/000000000007.json            names the digest of the one before it
    _kafkatx/head/000000000007-9f86d081...        an empty file: the newest commit and its digest

A manifest that is missing in front of others is a gap in their numbers, and a changed one does not match its
own checksum. No manifest follows the newest one, so only the head shows that it is missing. The head is
written after the manifest and before any of the commit's files is moved to its place. A process that is
killed between the two leaves a head that is one commit behind; the next run brings it up.

Manifests of version 1 have no checksum. The first one of version 2 names the digest of the one before it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise

from kafkatx.spark.ingest.errors import RESTORE, TableDamaged
from kafkatx.spark.ingest.table.files import Files
from kafkatx.spark.ingest.table.manifest import Manifest, parse_manifest

HOME = "_kafkatx"
COMMITS = f"{HOME}/commits"
HEAD = f"{HOME}/head"

_MANIFEST = re.compile(r"([0-9]{12})\.json")
_HEAD = re.compile(r"([0-9]{12})-([0-9a-f]{64})")


def manifest_path(commit: int) -> str:
    """Return the path of a commit's manifest."""
    return f"{COMMITS}/{commit:012d}.json"


def head_path(manifest: Manifest) -> str:
    """Return the path of the file that exists while this commit is the newest."""
    return f"{HEAD}/{manifest.commit:012d}-{manifest.digest}"


def manifest_commits(files: Files) -> list[int]:
    """Return the numbers of all commits, in order.

    :raises TableDamaged: one is missing.
    """
    found = (_MANIFEST.fullmatch(name) for name in files.names(COMMITS))
    commits = [int(match[1]) for match in found if match]
    for expected, commit in enumerate(commits, 1):
        if commit != expected:
            raise TableDamaged(f"{files.root}/{manifest_path(expected)} is missing. {RESTORE}")
    return commits


def read_manifest(files: Files, commit: int) -> Manifest:
    """Read one commit.

    :raises TableDamaged: its manifest is damaged.
    """
    path = manifest_path(commit)
    manifest = parse_manifest(files.read(path), f"{files.root}/{path}")
    if manifest.commit != commit:
        raise TableDamaged(f"{files.root}/{path} is the manifest of commit {manifest.commit}. {RESTORE}")
    return manifest


def last_manifest(files: Files) -> Manifest | None:
    """Read the newest commit and check it against the one before it and the head; None if there is none.

    :raises TableDamaged: a manifest is missing, or one of these two is damaged.
    """
    head = _head(files)
    commits = manifest_commits(files)
    manifests = [read_manifest(files, commit) for commit in commits[-2:]]
    _check(files, manifests, head)
    return manifests[-1] if manifests else None


def all_manifests(files: Files) -> list[Manifest]:
    """Read all commits, in order, and check each against the one before it.

    :raises TableDamaged: a manifest is missing or damaged.
    """
    head = _head(files)  # first: a commit that is made meanwhile must not be missed below
    manifests = [read_manifest(files, commit) for commit in manifest_commits(files)]
    _check(files, manifests, head)
    return manifests


def write_head(files: Files, manifest: Manifest) -> None:
    """Make this commit the one that the head names; it is on the disk before this returns.

    :raises OSError: the file system's.
    """
    path = head_path(manifest)
    if files.size(path) is None:
        with suppress(FileExistsError):  # by another ingestion that completes the same commit
            files.output(path).close()
    files.sync(HEAD)
    files.sync(HOME)
    for name in files.names(HEAD):
        found = _HEAD.fullmatch(name)
        if found and int(found[1]) < manifest.commit:
            files.remove(f"{HEAD}/{name}")


def _head(files: Files) -> tuple[int, str] | None:
    """Return the number and digest that the head names; None if there is no head."""
    names = files.names(HEAD) or files.names(HEAD)  # the second time if it was replaced meanwhile
    found = [match for match in map(_HEAD.fullmatch, names) if match]
    return (int(found[-1][1]), found[-1][2]) if found else None


def _check(files: Files, manifests: list[Manifest], head: tuple[int, str] | None) -> None:
    """Check that the last manifests follow one another, and that the head's commit is there.

    :raises TableDamaged: they do not, or it is not.
    """
    for one, next_one in pairwise(manifests):
        if next_one.previous is None:
            if one.previous is not None:
                raise TableDamaged(
                    f"{files.root}/{manifest_path(next_one.commit)} has no checksum, and the one before it "
                    f"has. {RESTORE}"
                )
        elif next_one.previous != one.digest:
            raise TableDamaged(
                f"{files.root}/{manifest_path(one.commit)} is not the one that commit {next_one.commit} "
                f"follows. {RESTORE}"
            )
    last = manifests[-1] if manifests else None
    if head is None:
        if len(manifests) > 1 and manifests[-2].previous is not None:
            raise TableDamaged(
                f"{files.root}/{HEAD} is empty, and commits after {manifests[-1].commit} may be missing. If "
                f"none is, create the empty file {head_path(manifests[-1])} there"
            )
        return
    commit, digest = head
    if last is None or commit > last.commit:
        raise TableDamaged(f"{files.root}/{manifest_path(commit)} is missing. {RESTORE}")
    named = [manifest for manifest in manifests if manifest.commit == commit]
    if not named:
        raise TableDamaged(
            f"{files.root}/{HEAD} names commit {commit}, and there is commit {last.commit}: parts of the "
            f"directory are of different times. {RESTORE}"
        )
    if named[0].digest != digest:
        raise TableDamaged(
            f"{files.root}/{manifest_path(commit)} is not the one that {HEAD} names. {RESTORE}"
        )
