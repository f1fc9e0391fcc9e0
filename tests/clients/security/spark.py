"""PySpark: Spark's own source and sink in the JVM (``kafka``), or those of kafkatx (``kafkatx``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.clients.security.program import Program, main
from tests.clients.security.ways import Given
from tests.clients.spark import QUICK, spark_with_jars

HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"


class Spark(Program):
    """``spark.read`` and ``DataFrame.write``.

    :param format: of the source and the sink.
    """

    def __init__(self, format: str, given: Given) -> None:
        super().__init__(given)
        self._format = format
        self._spark = spark_with_jars(QUICK)

    def version(self) -> str:
        """PySpark's."""
        version: str = self._spark.version
        return version

    def at(self, reader_or_writer: Any, **options: str) -> Any:
        """A reader or writer of topics of this broker."""
        named = {f"kafka.{name}": value for name, value in self.given.properties().items()}
        if self._format == "kafka" and self.given.way == "OAUTHBEARER":
            named["kafka.sasl.login.callback.handler.class"] = HANDLER
        return reader_or_writer.format(self._format).options(**named, **options)

    def produce(self, topic: str, values: Sequence[bytes]) -> None:
        """A batch."""
        rows = [(bytearray(value),) for value in values]
        table = self._spark.createDataFrame(rows, "value binary").coalesce(1)
        self.at(table.write.mode("append"), topic=topic).save()

    def read(self, topic: str, count: int) -> list[bytes]:
        """A batch."""
        return [bytes(row.value) for row in self.at(self._spark.read, subscribe=topic).load().collect()]


if __name__ == "__main__":
    main(partial(Spark, sys.argv.pop(1)))
