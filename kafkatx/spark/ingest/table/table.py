"""The table in the target directory: which commits it has, how one is added, and what a crash leaves.

::

    date=2015-05-19/hour=19/part-000000000007-00000.parquet   what readers see
    _dead_letters/part-000000000007-00001.json                records that could not be decoded
    _kafkatx/commits/000000000007.json                        manifests: the truth
    _kafkatx/head/000000000007-9f86...                        which of them is the newest
    _kafkatx/staging/7-3fa1.../                               what commit 7 is written to
    _kafkatx/lock

A commit exists when its manifest does; that appears by a rename that fails if the name is taken. Before it
nothing is visible. After it the head names it, and the files are moved to their places, by the next run if
need be.

Staged files of a commit that exists belong to it or are waste. Those of a commit that does not exist may be
of an ingestion that is at work somewhere: before they are removed an empty commit takes their number, so
that what is removed can never be committed.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from posixpath import dirname

import attrs

from kafkatx.spark.ingest.errors import ConflictingCommit, TableDamaged
from kafkatx.spark.ingest.table.commits import (
    COMMITS,
    HOME,
    last_manifest,
    manifest_commits,
    manifest_path,
    write_head,
)
from kafkatx.spark.ingest.table.files import Files
from kafkatx.spark.ingest.table.manifest import DEAD, Manifest, StagedFile, TableFile, digest_of

log = logging.getLogger(__name__)

STAGING = f"{HOME}/staging"
LOCK = f"{HOME}/lock"
DEAD_LETTERS = "_dead_letters"

_STAGED = re.compile(r"([0-9]+)-[0-9a-f]+")


class Table:
    """Commits of one ingestion at a time; a process that has lost its place learns it when it commits.

    :ivar last: the newest commit; None before the first.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.last: Manifest | None = None
        self._settled = True
        self._lock = ExitStack()

    def open(self, empty: Manifest) -> None:
        """Read the last commit, complete it, and remove what was never committed.

        :param empty: a commit without files, for the table's first one if it has to be an empty one.
        :raises TableDamaged: the directory is not an ingestion's, or parts of it are gone.
        :raises ConflictingCommit: another ingestion writes to it.
        :raises OSError: the file system's.
        """
        check_vacant(self.files)
        self.files.create_dir(COMMITS)
        self.files.create_dir(STAGING)
        for path in (HOME, ""):
            self.files.sync(path)
        self._take_lock()
        self.last = last_manifest(self.files)
        if self.last is not None:
            self.files.sync(COMMITS)  # who wrote it may have been killed before that
            if self.last.previous is not None:  # or an older kafkatx may go on here, which writes no head
                write_head(self.files, self.last)
            self._put_in_place(self.last)
        leftovers = self._remove_settled(self.files.names(STAGING))
        if leftovers:
            self.commit(
                self.stage(),
                attrs.evolve(self.last or empty, commit=self.next_commit, offsets={}, files=()),
            )
            for name in leftovers:
                self.files.remove(f"{STAGING}/{name}")

    def _take_lock(self) -> None:
        try:
            self._lock.enter_context(self.files.lock(LOCK))
        except BlockingIOError as error:
            raise ConflictingCommit(
                f"{self.files.root}: another ingestion is at work there, {error.strerror}"
            ) from None

    def close(self) -> None:
        """Unlock the directory for other ingestions."""
        self._lock.close()

    @property
    def next_commit(self) -> int:
        """The number of the commit that comes next; the first is 1."""
        return 1 if self.last is None else self.last.commit + 1

    def stage(self) -> str:
        """Create a directory for the next commit's files and return its name."""
        path = f"{STAGING}/{self.next_commit}-{uuid.uuid4().hex}"
        self.files.create_dir(path)
        return path

    def discard(self, staging: str) -> None:
        """Remove what was staged, unless it may have been committed: then the next :meth:`open` decides."""
        if self._settled:
            self.files.remove(staging)

    def commit(self, staging: str, manifest: Manifest) -> None:
        """Make staged files part of the table, all or none.

        :param manifest: of number :attr:`next_commit`.
        :raises ConflictingCommit: another ingestion has made a commit of this number; this one is hidden.
        :raises TableDamaged: staged files or earlier commits are gone.
        :raises OSError: the file system's; whether it is committed turns out at the next :meth:`open`.
        """
        self._check(manifest)
        manifest = attrs.evolve(manifest, previous=self.last.digest if self.last else "")
        data = manifest.to_json()
        manifest = attrs.evolve(manifest, digest=digest_of(data))
        self._sync_staged(staging, manifest.files)
        written = f"{staging}/manifest.json"
        with self.files.output(written) as stream:
            stream.write(data)
        self.files.sync(written)
        self._settled = False
        try:
            self.files.publish(written, manifest_path(manifest.commit))
        except FileExistsError:
            self._settled = True
            raise self._conflict(manifest.commit) from None
        self.files.sync(COMMITS)
        self.last = manifest
        write_head(self.files, manifest)
        self._put_in_place(manifest)
        self._settled = True
        self._remove_settled(self.files.names(STAGING))

    def _check(self, manifest: Manifest) -> None:
        """See that what is to be committed is there, and what was committed still is."""
        if self.last is not None and self.files.size(manifest_path(self.last.commit)) is None:
            raise TableDamaged(
                f"{self.files.root}/{manifest_path(self.last.commit)} is gone: was the directory deleted?"
            )
        if self.files.size(manifest_path(manifest.commit)) is not None:
            raise self._conflict(manifest.commit)
        for file in manifest.files:
            if self.files.size(file.staged) != file.bytes:
                raise TableDamaged(
                    f"{self.files.root}/{file.staged}, which a task has written, is not there or not as it "
                    "was written: all executors and the driver must see the same directory"
                )
            if self.files.size(file.path) is not None:
                raise TableDamaged(
                    f"{self.files.root}/{file.path} is there before its commit: {COMMITS} is not complete"
                )

    def _conflict(self, commit: int) -> ConflictingCommit:
        return ConflictingCommit(
            f"{self.files.root}: another ingestion has made commit {commit}; this one ends and has added "
            "nothing under that number. One directory is for one ingestion"
        )

    def _sync_staged(self, staging: str, files: Iterable[TableFile]) -> None:
        """Sync the names of files and directories; the tasks have synced the files."""
        for path in _with_parents({dirname(file.staged) for file in files}, below=staging):
            self.files.sync(path)
        self.files.sync(staging)
        self.files.sync(STAGING)

    def _put_in_place(self, manifest: Manifest) -> None:
        """Move staged files to where readers look; those that are there already stay."""
        if not manifest.files or self.files.size(staging_of(manifest.files[0])) is None:
            return
        folders = {dirname(file.path) for file in manifest.files}
        for folder in sorted(folders):
            self.files.create_dir(folder)
        for file in manifest.files:
            try:
                self.files.move(file.staged, file.path)
            except FileNotFoundError:
                if self.files.size(file.path) is None:
                    raise TableDamaged(
                        f"{self.files.root}/{file.path} of commit {manifest.commit} is gone, and so is "
                        f"{file.staged}. If it was deleted on purpose, remove {STAGING} to go on"
                    ) from None
        for path in [*_with_parents(folders, below=""), ""]:
            self.files.sync(path)

    def _remove_settled(self, names: Iterable[str]) -> list[str]:
        """Remove staging directories of commits that exist; the others are returned."""
        latest, others = self.next_commit - 1, []
        for name in names:
            found = _STAGED.fullmatch(name)
            if found and int(found[1]) > latest:
                others.append(name)
            else:
                self.files.remove(f"{STAGING}/{name}")
        return others


def check_vacant(files: Files) -> None:
    """See that a directory without commits has nothing else, either.

    :raises TableDamaged: it has.
    """
    if manifest_commits(files):
        return
    names = files.names("")
    strange = [name for name in names if name == DEAD_LETTERS or name[0] not in "._"]
    if set(strange) - {"lost+found"}:
        raise TableDamaged(
            f"{files.root} has {strange[0]!r} but no {COMMITS}: it is no table of an ingestion, or its "
            "commits were deleted. Give another directory, or an empty one to load everything again"
        )


def placed(staged: Sequence[StagedFile], commit: int, extension: str) -> tuple[TableFile, ...]:
    """Say where in the table the files of a commit come to be: in the folder that they are staged in."""
    files = []
    for number, file in enumerate(staged):
        dead = file.kind == DEAD
        folder = DEAD_LETTERS if dead else dirname(file.staged)[len(staging_of(file)) + 1 :]
        name = f"part-{commit:012d}-{number:05d}.{'json' if dead else extension}"
        path = f"{folder}/{name}" if folder else name
        files.append(TableFile(**attrs.asdict(file, recurse=False), path=path))
    return tuple(files)


def staging_of(file: StagedFile) -> str:
    """Return the staging directory that a file was written to."""
    return "/".join(file.staged.split("/")[:3])


def _with_parents(folders: Iterable[str], below: str) -> list[str]:
    """Return the folders and those above them, up to but without *below*; deepest first."""
    found = set()
    for folder in folders:
        while folder not in ("", below):
            found.add(folder)
            folder = dirname(folder)
    return sorted(found, key=len, reverse=True)
