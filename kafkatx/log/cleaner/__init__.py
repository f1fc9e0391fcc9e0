"""Log compaction: of the records with one key the last is kept (``cleanup.policy=compact``).

As in Apache Kafka, a log has a clean part, from which obsolete records were removed before, a dirty one,
and what cannot be cleaned yet, at least the active segment::

    segments    | 0 | 700 | 912 |  1100 | 1180 | 1260 | 1340 (active)
    a pass      |     clean     |     dirty    | too young     |
    reads       |               |-> key -> last offset
    writes      |-> 0 | 1100 without what the map knows a later offset of

*   :mod:`~kafkatx.log.cleaner.plan` says which log is worth a pass, and from where to where (pure).
*   :mod:`~kafkatx.log.cleaner.passes` is what a pass is told and what it gives.
*   :mod:`~kafkatx.log.cleaner.clean` is the pass itself: a function from files to files. It writes
    ``.cleaned`` files beside the segments and changes nothing else. It decodes every record, which a thread
    could do only at the cost of the reactor's latency; so :mod:`~kafkatx.log.cleaner.process` runs it in a
    process of its own.
*   :mod:`~kafkatx.log.cleaner.offset_map`, :mod:`~kafkatx.log.cleaner.spans` and
    :mod:`~kafkatx.log.cleaner.retained` are its parts: the keys' last offsets, where records begin and end,
    and what stays of one batch.
*   :mod:`~kafkatx.log.segment.swap` puts the new files in the place of the old ones, so that a crash at any
    point leaves the one or the other.
*   :mod:`~kafkatx.log.cleaner.log_cleaner` goes round: plans, has it cleaned, swaps.

Offsets never change. Segments are swapped oldest first: a tombstone never goes before what it deletes.
"""
