"""The filter plugin ``regex``: records by their key, value or a header. Pure.

Its settings (each a regular expression that must match somewhere; a record is copied if all that are set
do)::

    filter=regex
    kafkatx.plugin.regex.key=^customer-
    kafkatx.plugin.regex.value="country":"(DE|AT|CH)"
    kafkatx.plugin.regex.header.tenant=^(acme|apex)$
    kafkatx.plugin.regex.invert=true
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from zope.interface import implementer

from kafkatx.clientcore.consumer.record import Record
from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable, IRecordFilter

HEADER = "header."


@implementer(IRecordFilter, IConfigurable)
class RegexFilter:
    """Copies the records whose key, value and headers match regular expressions over their bytes."""

    def __init__(self) -> None:
        self._key: re.Pattern[bytes] | None = None
        self._value: re.Pattern[bytes] | None = None
        self._headers: dict[str, re.Pattern[bytes]] = {}
        self._wanted = True

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the expressions.

        :raises SettingError: a name is unknown, an expression is none, or there is not any.
        """
        for name, text in settings.items():
            if name == "key":
                self._key = _pattern(name, text)
            elif name == "value":
                self._value = _pattern(name, text)
            elif name.startswith(HEADER) and len(name) > len(HEADER):
                self._headers[name.removeprefix(HEADER)] = _pattern(name, text)
            elif name == "invert" and text in ("true", "false"):
                self._wanted = text == "false"
            else:
                raise SettingError(
                    f"kafkatx.plugin.regex.{name}={text}: the filter has key, value, header.NAME and "
                    "invert=true or false"
                )
        if self._key is None and self._value is None and not self._headers:
            raise SettingError("filter=regex: set kafkatx.plugin.regex.key, .value or .header.NAME")

    def keep(self, record: Record) -> bool:
        """Return True if all expressions match; False with ``invert``. What is missing matches nothing."""
        return self._matches(record) is self._wanted

    def _matches(self, record: Record) -> bool:
        if self._key is not None and (record.key is None or not self._key.search(record.key)):
            return False
        if self._value is not None and (record.value is None or not self._value.search(record.value)):
            return False
        if not self._headers:
            return True
        headers = dict(record.headers)
        return all(
            (value := headers.get(name)) is not None and pattern.search(value) is not None
            for name, pattern in self._headers.items()
        )


def _pattern(name: str, text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise SettingError(f"kafkatx.plugin.regex.{name}={text}: no regular expression: {error}") from None
