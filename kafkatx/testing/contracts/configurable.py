"""The contract of plugins with settings of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zope.interface.verify import verifyObject

from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object


class ConfigurableContract(_Case):
    """For an :class:`~kafkatx.interfaces.IConfigurable`."""

    def make_configurable(self) -> IConfigurable:
        """Return a new plugin that has not been configured."""
        raise NotImplementedError

    def settings(self) -> Mapping[str, str]:
        """Return settings that it accepts."""
        raise NotImplementedError

    def test_configurable(self) -> None:
        """Check that it provides IConfigurable."""
        self.assertTrue(verifyObject(IConfigurable, self.make_configurable()))

    def test_settings_taken(self) -> None:
        """Check that it accepts its settings without changing them."""
        given = dict(self.settings())
        self.make_configurable().configure(given)
        self.assertEqual(given, self.settings())

    def test_unknown_setting(self) -> None:
        """Check that it refuses an unknown setting, and that the message names it."""
        with self.assertRaisesRegex(SettingError, "no[.]such[.]setting"):
            self.make_configurable().configure({**self.settings(), "no.such.setting": "1"})
