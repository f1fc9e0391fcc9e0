"""The clients of a run: producers, readers and members of groups, by several libraries, each in a thread.

:mod:`~tests.cluster.clients.load` has what they share; the other modules each have one library.
"""
