"""The table as Spark reads it, commit by commit: of each commit all files or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from posixpath import dirname
from typing import TYPE_CHECKING

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.errors import TableDamaged
from kafkatx.spark.ingest.table.columns import Column, to_ddl
from kafkatx.spark.ingest.table.commits import COMMITS, all_manifests
from kafkatx.spark.ingest.table.files import Files, open_files
from kafkatx.spark.ingest.table.folders import file_columns, folder_columns
from kafkatx.spark.ingest.table.manifest import DATA, Manifest
from kafkatx.spark.ingest.table.table import staging_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, directory: str, ignore_missing: bool = False) -> DataFrame:
    """Return the rows of the commits that exist now.

    Other readers list the directory: they see whole files, but may see some of a commit's files and not yet
    the others. Here files count from the moment of their commit, wherever they are.

    :param ignore_missing: leave out files that were deleted, old days say; otherwise they are an error.
    :raises TableDamaged: there is no commit, files of one are gone, or a manifest is missing or damaged.
    :raises SettingError: the table is of Avro files, which Spark does not read without a package of its own.
    """
    files = open_files(directory)
    manifests = all_manifests(files)
    if not manifests:
        raise TableDamaged(f"{files.root} has no {COMMITS}: nothing was ingested into it")
    last = manifests[-1]
    if last.format == "avro":
        raise SettingError(f"{files.root} is Avro: read it with spark-avro, or with fastavro")
    folders = folder_columns(last.schema, last.partition_by)
    columns = [*file_columns(last.schema, last.partition_by), *folders]
    frames = [
        _read(spark, files, last.format, base, paths, columns)
        for base, paths in _located(files, manifests, ignore_missing).items()
    ]
    frame = frames[0] if frames else spark.createDataFrame([], to_ddl(columns))
    for other in frames[1:]:
        frame = frame.unionByName(other)
    return frame


def _located(files: Files, manifests: Sequence[Manifest], ignore_missing: bool) -> dict[str, list[str]]:
    """Return the files by the folder that they lie below: the table's, or a commit's staging directory."""
    data = [file for manifest in manifests for file in manifest.files if file.kind == DATA]
    there = {
        f"{folder}/{name}".lstrip("/")
        for folder in {dirname(file.path) for file in data}
        for name in files.names(folder)
    }
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in data:
        if file.path in there:
            found[""].append(file.path)
        elif files.size(file.staged) is not None:
            found[staging_of(file)].append(file.staged)
        elif files.size(file.path) is not None:  # it was moved while we looked
            found[""].append(file.path)
        elif not ignore_missing:
            raise TableDamaged(
                f"{files.root}/{file.path} is gone. If it was deleted on purpose, read with ignore_missing"
            )
    return found


def _read(
    spark: SparkSession,
    files: Files,
    format: str,
    base: str,
    paths: Sequence[str],
    columns: Sequence[Column],
) -> DataFrame:
    reader = spark.read.schema(to_ddl(columns)).option("basePath", files.uri(base))
    # Numbers that are none, as formats.JsonWriter writes them.
    reader = reader.option("allowNonNumericNumbers", "true")
    return reader.format(format).load([files.uri(path) for path in paths])
