"""The interface of a mirror's filters."""

from __future__ import annotations

from typing import Any

from zope.interface import Interface


class IRecordFilter(Interface):
    """Chooses the records that ``kafkatx mirror run`` copies. Factory: ``factory()``; one object per source.

    The answer must depend on the record and the plugin's settings alone: after a restart records may be
    passed again, and a filter that then answers otherwise makes a mirror lose or double records.
    """

    def keep(record: Any) -> bool:
        """Return True to copy a record; called for each, so it should be fast.

        :param record: a :class:`kafkatx.client.Record` of the source, with bytes as key and value.
        :raises Exception: the record cannot be judged; its partition stops until the mirror is restarted or
            the next retry, and the mirror's status says why.
        """
