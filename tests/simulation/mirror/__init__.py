"""A simulation of whole brokers that mirror a topic of another cluster, by chance from a seed.

The brokers, their machines, network, tree and faults are those of :mod:`tests.simulation.replication`. The
source is a list of batches with leader epochs (:mod:`.source`), which elects leaders, cleanly or not, loses
and deletes records, and goes away for a while. :mod:`.chances` makes things happen, :mod:`.checks` compares
each log with all that the source has ever had, :mod:`.mutants` takes rules out of the code.
"""
