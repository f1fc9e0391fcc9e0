"""Records into rows: what a decoder gives, in the columns of a table; dead letters; new fields.

Pure but for pyarrow. A :class:`Decoding` is made on the driver, pickled, and used in the workers.
"""

from kafkatx.spark.ingest.decoder.decoder import DEAD_SCHEMA, KAFKA_COLUMNS, Decoded, Decoding
from kafkatx.spark.ingest.decoder.factory import open_decoding
from kafkatx.spark.ingest.decoder.schema_evolution import merged, widened

__all__ = ["DEAD_SCHEMA", "KAFKA_COLUMNS", "Decoded", "Decoding", "merged", "open_decoding", "widened"]
