"""A simulation of whole brokers that copy partitions, in one process, by chance from a seed.

It touches memory only (and, with ``--files``, a folder). Each machine has a disk that may lose what was not
synced, and lives of one broker, one after the other (:mod:`.machine`); connections between them and to
clients are in memory, and can be slow, held or cut (:mod:`.network`). :mod:`.chances` makes things happen,
:mod:`.truth` and :mod:`.checks` compare what the brokers hold and believe after each step, :mod:`.mutants`
takes rules out of the code, which the simulation must notice.
"""
