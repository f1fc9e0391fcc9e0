"""The checks of an ingestion that need no Spark: made before it is started, which takes seconds.

Reads the target directory, and asks a broker for its topics. Java and PySpark themselves are checked by
:mod:`kafkatx.spark.session`.
"""

from __future__ import annotations

from kafkatx.schemas.engines import check_library
from kafkatx.schemas.messages.formats import NAMES
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.table.commits import last_manifest
from kafkatx.spark.ingest.table.files import open_files
from kafkatx.spark.ingest.table.formats import check_format
from kafkatx.spark.ingest.table_decoder import decoding_of, resolver_of
from kafkatx.spark.ingest.tasks.jobs import disk_error
from kafkatx.spark.options.options import Assign, Subscribe, check_topic_names
from kafkatx.spark.source.plan import assigned, connect


def check_without_spark(options: IngestOptions) -> None:
    """Check the target directory, the decoder, the columns, the topics and the brokers, and the registry.

    :raises SettingError: an option is wrong, or differs from what the directory was begun with.
    :raises MissingLibrary: the library of the messages' schemas is not installed.
    :raises TableDamaged: the directory is not as an ingestion leaves it.
    :raises IngestError: the directory cannot be read.
    :raises UnknownTopic: there is no topic of a name.
    :raises ConnectionFailed: no broker answers, or no schema registry.
    """
    if isinstance(options.selection, Subscribe):
        check_topic_names("topic", options.selection.topics)
    elif isinstance(options.selection, Assign):
        check_topic_names("topic", {topic for topic, _ in options.selection.partitions})
    check_format(options.format, options.compression)
    if options.decode in NAMES:
        check_library(NAMES[options.decode])
    files = open_files(options.to)
    try:
        resolver = resolver_of(options)
        decoding_of(options, last_manifest(files), None if resolver is None else resolver.schemas)
    except OSError as error:
        raise disk_error(files.root, str(error)) from error
    with connect(options.client) as cluster:
        assigned(cluster, options.selection)
    if resolver is not None:
        resolver.check()
        resolver.close()
