"""A broker's settings file and overrides, kept so that they can be read again. Imports nothing of Twisted."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from kafkatx.config import BrokerConfig


@attrs.frozen
class SettingsSource:
    """A settings file and the settings that override it.

    :ivar path: absolute path of the settings file, if there is one.
    :ivar overrides: names and values that go before the file.
    """

    path: str | None
    overrides: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, path: str | None, overrides: Sequence[tuple[str, str]]) -> SettingsSource:
        """Make a source; the process may change its working directory later."""
        return cls(None if path is None else os.path.abspath(path), overrides)

    def load(self) -> BrokerConfig:
        """Read the settings.

        :raises SettingError: as :meth:`BrokerConfig.load`.
        """
        return BrokerConfig.load(self.path, self.overrides)
