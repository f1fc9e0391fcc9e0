"""The interface by which a broker tells the state of its mirrors; it touches nothing.

The values are those that clients get, too (:mod:`kafkatx.clientcore.admin.mirror_status`); DescribeMirrors
(:mod:`kafkatx.broker.handlers.describe_mirrors`) and the controller's part of a promotion ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import Interface

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus

__all__ = ["IMirrorStatus", "LinkStatus", "MirrorStatus"]


class IMirrorStatus(Interface):
    """The state of a broker's links and mirrored partitions, now."""

    def status() -> Sequence[MirrorStatus]:
        """Return the status of each mirrored partition that this broker leads, in any order."""

    def links() -> Sequence[LinkStatus]:
        """Return the status of each link, in any order."""
