"""Log compaction: the last record of each key is kept (``cleanup.policy=compact``).

As in Apache Kafka, a log has a clean part, from which obsolete records are already removed, a dirty part, and
a part that cannot be cleaned yet, at least the active segment::

    segments    | 0 | 700 | 912 |  1100 | 1180 | 1260 | 1340 (active)
    a pass      |     clean     |     dirty    | too young     |
    reads       |               |-> key -> last offset
    writes      |-> 0 | 1100 without records that have a later offset in the map

*   :mod:`~kafkatx.log.cleaner.plan` chooses the log to clean, and the range of offsets (pure).
*   :mod:`~kafkatx.log.cleaner.passes` has the parameters and results of a pass.
*   :mod:`~kafkatx.log.cleaner.clean` is the pass itself: a function from files to files. It writes
    ``.cleaned`` files beside the segments and changes nothing else. It decodes every record, which in a
    thread would increase the reactor's latency; so :mod:`~kafkatx.log.cleaner.process` runs it in a separate
    process.
*   :mod:`~kafkatx.log.cleaner.offset_map`, :mod:`~kafkatx.log.cleaner.spans`,
    :mod:`~kafkatx.log.cleaner.retained` and :mod:`~kafkatx.log.cleaner.transactions` are its parts: the last
    offset of each key, the positions of records, the retained records of one batch, and the outcomes of
    transactions.
*   :mod:`~kafkatx.log.segment.swap` replaces the old files by the new ones, so that after a crash at any
    point either the old or the new ones exist.
*   :mod:`~kafkatx.log.cleaner.log_cleaner` plans passes, runs them, and swaps the files.

Offsets never change. Segments are swapped oldest first: a tombstone is never removed before the records that
it deletes.
"""
