"""The checks of an ingestion that are made before Spark is started."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import attrs

from kafkatx.blocking import UnknownTopic
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.spark.ingest import checks
from kafkatx.spark.ingest.checks import check_without_spark
from kafkatx.spark.ingest.errors import IngestError, TableDamaged
from kafkatx.spark.options.options import Assign, Subscribe
from kafkatx.types import TopicPartition
from tests.spark.ingest.test_ingestion import IngestionCase
from tests.spark.ingest.test_plan import options


class CheckTests(IngestionCase):
    def check(self, **given: Any) -> None:
        """Check an ingestion into this test's directory; the brokers have one topic, t."""
        self.patch(checks, "connect", lambda client: self.cluster)
        check_without_spark(attrs.evolve(options(**given), to=given.pop("to", self.root)))

    def refused(self, **given: Any) -> str:
        """Return the error, which is one line."""
        error = self.assertRaises(KafkaTXError, self.check, **given)
        self.assertNotIn("\n", str(error))
        return str(error)

    def test_fine(self) -> None:
        """A possible ingestion passes, and leaves no trace of the target directory."""
        self.check()
        self.assertFalse(os.path.exists(self.root))

    def test_topics(self) -> None:
        """A topic that cannot exist, or does not, is named."""
        self.assertIn("topic=no topic: ", self.refused(selection=Subscribe(("no topic",))))
        wrong = Assign(frozenset({TopicPartition("..", 0)}))
        self.assertIn("topic=..: ", self.refused(selection=wrong))
        self.assertRaises(UnknownTopic, self.check, selection=Subscribe(("absent",)))

    def test_decoder(self) -> None:
        """A decoder that does not exist, or has no such setting, is told."""
        self.assertIn("access-log", self.refused(decode="access_log"))
        self.assertIn("nothing is decoded", self.refused(decoder_settings={"schema": "a INT"}))

    def test_library(self) -> None:
        """A library that the decoder needs is asked for before Spark is started."""
        self.patch(importlib.util, "find_spec", lambda name: None)
        for decode, library in (
            ("avro", "fastavro"),
            ("json-schema", "jsonschema"),
            ("protobuf", "protobuf"),
        ):
            refused = self.refused(decode=decode)
            self.assertIn(library, refused)
            self.assertIn("pip install 'kafkatx[schemas]'", refused)

    def test_columns(self) -> None:
        """A column that is to name folders must exist, if the columns are known."""
        self.assertIn("nothing", self.refused(partition_by=["nothing"]))

    def test_format(self) -> None:
        """A format that cannot be written so is told."""
        self.assertIn("zstd", self.refused(format="avro", compression="zstd"))

    def test_directory(self) -> None:
        """A file system without atomic renames is told."""
        error = self.assertRaises(SettingError, check_without_spark, attrs.evolve(options(), to="s3://b/x"))
        self.assertIn("not atomic on s3", str(error))

    def test_begun_otherwise(self) -> None:
        """Options that differ from those that the directory was begun with are told."""
        self.ingest()
        self.check()
        self.assertIn("begun with parquet", self.refused(format="json"))

    def test_damaged(self) -> None:
        """A directory from which commits are missing is told."""
        self.ingest()
        folder = os.path.join(self.root, "_kafkatx/commits")
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        self.assertRaises(TableDamaged, self.check)

    def test_unreadable(self) -> None:
        """A directory that cannot be read is told with the reason."""

        def last_manifest(files: object) -> None:
            raise OSError(5, "Input/output error")

        self.patch(checks, "last_manifest", last_manifest)
        error = self.assertRaises(IngestError, self.check)
        self.assertIn("Input/output error", str(error))

    def test_no_broker(self) -> None:
        """An address at which no broker answers is told."""
        error = self.assertRaises(KafkaTXError, check_without_spark, attrs.evolve(options(), to=self.root))
        self.assertIn("h:1", str(error))
