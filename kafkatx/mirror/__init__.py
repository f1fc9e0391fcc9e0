"""The mirror that copies: records of other clusters are consumed and produced to a target cluster.

Any topic may be renamed and filtered, and several sources may share a target topic. ``core`` is pure: names,
provenance, encoded batches, the map of offsets and what a target's log tells of progress. ``mm2`` has the
formats of MirrorMaker 2. ``copy`` does the work with the Twisted client, and :mod:`kafkatx.mirror.service` is
the service. The mirror inside of the broker, which keeps offsets, is not here.
"""
