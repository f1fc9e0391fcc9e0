"""Group configs: over the broker's settings, within its bounds, and checked when they change."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.group_config import RANGES, check_group_configs, group_value
from kafkatx.config.table.consumer_group import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS, SETTINGS
from kafkatx.errors import ErrorCode, RequestError

SESSION, HEARTBEAT = SESSION_TIMEOUT_MS.name, HEARTBEAT_INTERVAL_MS.name
CONFIG = BrokerConfig.load(
    None,
    {
        "group.consumer.session.timeout.ms": "50000",
        "group.consumer.min.session.timeout.ms": "40000",
        "group.consumer.max.session.timeout.ms": "60000",
    },
)


class ValueTests(SynchronousTestCase):
    def test_broker(self) -> None:
        """A group without configs has the broker's values."""
        self.assertEqual(group_value(CONFIG, {}, SESSION_TIMEOUT_MS), 50_000)

    def test_own(self) -> None:
        """A group's own value counts, within the bounds of now."""
        for text, value in (("45000", 45_000), ("1", 40_000), ("99000", 60_000)):
            self.assertEqual(group_value(CONFIG, {SESSION: text}, SESSION_TIMEOUT_MS), value)

    def test_unreadable(self) -> None:
        """A stored value that cannot be parsed is ignored."""
        self.assertEqual(group_value(CONFIG, {SESSION: "soon"}, SESSION_TIMEOUT_MS), 50_000)

    def test_ranges(self) -> None:
        """Each config has bounds that its default is within."""
        config = BrokerConfig.load()
        for name in SETTINGS:
            bounds = RANGES[name]
            self.assertTrue(config[bounds.low] <= config[bounds.source] <= config[bounds.high], name)


class CheckTests(SynchronousTestCase):
    def refused(self, **values: str) -> str:
        """Return the message for configs that are not allowed."""
        configs = {name.replace("_", "."): value for name, value in values.items()}
        error = self.assertRaises(RequestError, check_group_configs, CONFIG, configs, configs.keys())
        self.assertEqual(error.code, ErrorCode.INVALID_CONFIG)
        return str(error)

    def test_allowed(self) -> None:
        """Values from the lowest to the highest are allowed, and so is the removal of a config."""
        for text in ("40000", "60000"):
            check_group_configs(CONFIG, {SESSION: text}, [SESSION])
        check_group_configs(CONFIG, {}, [SESSION])

    def test_bounds(self) -> None:
        """The message names the bounds and the settings that they are."""
        for text in ("39999", "60001"):
            message = self.refused(consumer_session_timeout_ms=text)
            self.assertIn("40000 (group.consumer.min.session.timeout.ms)", message)

    def test_bad(self) -> None:
        """Unknown names and values that are no numbers are refused."""
        self.assertIn("Unknown group config name: no.such", self.refused(no_such="1"))
        self.assertIn("a whole number", self.refused(consumer_session_timeout_ms="soon"))

    def test_heartbeat_below_session(self) -> None:
        """Heartbeats must come within the session time-out."""
        config = BrokerConfig.load(None, {"group.consumer.max.heartbeat.interval.ms": "90000"})
        configs = {HEARTBEAT: "45000"}
        error = self.assertRaises(RequestError, check_group_configs, config, configs, [HEARTBEAT])
        self.assertIn("must be below", str(error))

    def test_old_values(self) -> None:
        """Only configs that change are checked: bounds may have moved since the others were set."""
        check_group_configs(CONFIG, {SESSION: "1"}, [])
