"""A cluster of metadata stores on the tree in memory, with crashes, cuts, freezes and delays by chance.

``world`` is the cluster and its time, ``process`` one broker of it, ``server`` its tree; ``chances`` are the
events. ``transactions`` and ``stores`` are the invariants; ``mutants`` takes single rules out of the
code. ``run`` makes one run from a seed; ``python -m tests.simulation`` makes many.
"""
