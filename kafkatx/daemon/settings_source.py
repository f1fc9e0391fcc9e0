"""A broker's settings file and overrides, kept so that they can be read again. Imports nothing of Twisted."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker, groups


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

    def without_file(self) -> SettingsSource:
        """Return a source whose groups do not wait for members, if this has no file and no cluster.

        Members of a group on one machine start together, and its first join should not take three seconds:
        Apache Kafka's sample file sets ``group.initial.rebalance.delay.ms`` to 0, too.

        :raises SettingError: as :meth:`load`.
        """
        delay = groups.GROUP_INITIAL_REBALANCE_DELAY_MS
        if self.path is not None:
            return self
        config = self.load()
        alone = config[broker.KAFKATX_METADATA_STORE] == broker.KAFKATX_METADATA_STORE.default
        if not alone or config.used_name(delay) is not None:
            return self
        return attrs.evolve(self, overrides=[*self.overrides, (delay.name, "0")])

    def load(self) -> BrokerConfig:
        """Read the settings.

        :raises SettingError: as :meth:`BrokerConfig.load`.
        """
        return BrokerConfig.load(self.path, self.overrides)
