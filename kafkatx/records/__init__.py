"""Message formats as bytes in, bytes out: no I/O, no Twisted.

*   :mod:`~kafkatx.records.header`, :mod:`~kafkatx.records.batch`, :mod:`~kafkatx.records.builder`: magic 2,
    since Kafka 0.11.
*   :mod:`~kafkatx.records.legacy.messages`, :mod:`~kafkatx.records.legacy.message_sets`: magic 0 and 1.
*   :mod:`~kafkatx.records.conversion`: walking and reading logs of all formats; from one to another.
*   :mod:`~kafkatx.records.compression`, :mod:`~kafkatx.records.compressed_frames`: the codecs, with bounds.
*   :mod:`~kafkatx.records.checksum`, :mod:`~kafkatx.records.varint`: what the formats are made of.
"""

from kafkatx.records.batch import BatchHeader, Record
from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.records.compression import Codec, codec_named
from kafkatx.records.conversion import batches, iter_any

__all__ = [
    "BatchBuilder",
    "BatchHeader",
    "Codec",
    "Record",
    "batches",
    "build_values",
    "codec_named",
    "iter_any",
]
