"""The files of a table that topics were loaded into. It reads directories and the manifests of commits.

A copied file counts, because it doubles its records for every reader. The files of records that could not be
decoded (``_dead_letters``) count, too, and so do files that a commit lists but that are not in their place
yet: an ingestion that was killed leaves them staged, and its next start moves them (see docs/ingest.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import attrs

from kafkatx.errors import KafkaTXError

FORMATS = ("parquet", "json", "avro")
DEAD_LETTERS = "_dead_letters"
COMMITS = os.path.join("_kafkatx", "commits")


class BadTable(KafkaTXError):
    """The directory is not a table of Kafka records."""


@attrs.frozen
class File:
    """One file; ``written_ms`` is the time of its commit, None without commits."""

    path: str
    format: str
    written_ms: int | None = None


def files(directory: str) -> list[File]:
    """Return all files of a table.

    :raises BadTable: there are none, or a commit cannot be read.
    :raises OSError: the directory cannot be read.
    """
    if "://" in directory:
        raise BadTable(
            f"{directory}: only local directories are read here; use python -m kafkatx.spark.audit"
        )
    committed = dict(_committed(directory))
    dead_letters = os.path.join(directory, DEAD_LETTERS)
    named = {path: path for path in _listed(directory)}
    if os.path.isdir(dead_letters):
        named |= {path: path for path in _listed(dead_letters)}
    times = {path: at for path, (_, at) in committed.items()}
    for path, (staged, at) in committed.items():
        if path not in named and os.path.exists(staged):
            named[staged], times[staged] = path, at
    found = [
        File(path, format, times.get(path))
        for path, name in sorted(named.items())
        if (format := _format(name))
    ]
    if not found and not committed:
        raise BadTable(f"{directory}: there are no {', '.join(FORMATS)} files in it")
    return found


def _format(path: str) -> str:
    """Return the format by the ending of a file's name; empty if it is another."""
    end = path.rsplit(".", 1)[-1].lower()
    return end if end in FORMATS else ""


def _listed(directory: str) -> Iterator[str]:
    """Yield the files that other readers see: no names that begin with ``_`` or ``.``."""
    for entry in os.scandir(directory):
        if entry.name[0] in "_.":
            continue
        if entry.is_dir():
            yield from _listed(entry.path)
        else:
            yield entry.path


def _committed(directory: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield for each committed file its path, the path where it was staged, and the time of the commit."""
    folder = os.path.join(directory, COMMITS)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        number, end = os.path.splitext(name)
        if not number.isdigit() or end != ".json":
            continue
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="utf-8") as manifest:
                commit = json.load(manifest)
            for file in commit["files"]:
                staged = os.path.join(directory, file["staged"])
                yield os.path.join(directory, file["path"]), (staged, int(commit["written_ms"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadTable(f"{path}: this is not a commit of an ingestion: {error!r}") from error
