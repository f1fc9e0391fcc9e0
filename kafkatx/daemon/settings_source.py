"""Where a broker's settings come from. Reads the settings file; imports nothing of Twisted."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from kafkatx.config import BrokerConfig


@attrs.frozen
class SettingsSource:
    """Where a broker's settings come from, so that they can be read again.

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
