"""Configs of groups (resource type GROUP): described, altered, and applied to KIP-848 groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from kafkatx.broker import configs
from kafkatx.config.alter import Operation
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages import alter_configs
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.coordinated import groups_of
from tests.broker.handlers.test_consumer_group_heartbeat import ConsumerGroupTestCase

GROUP = 32
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
SET, DELETE, APPEND, SUBTRACT = Operation
BROKER_GIVEN, OWN, DEFAULT = 4, 8, 5


class GroupConfigsTestCase(ConsumerGroupTestCase):
    settings: ClassVar[Mapping[str, str]] = {"group.consumer.heartbeat.interval.ms": "4000"}

    def alter(
        self, *changes: tuple[str, Operation, str | None], group: str = "g", validate_only: bool = False
    ) -> tuple[int, str | None]:
        """Alter a group's configs; return the code and the message."""
        asked = AlterConfigsResource(GROUP, group, [AlterableConfig(*change) for change in changes])
        (result,) = self.ask(44, 1, IncrementalAlterConfigsRequest([asked], validate_only)).responses
        return result.error_code, result.error_message

    def refused(self, *changes: tuple[str, Operation, str | None], group: str = "g") -> str:
        """Return the message of a change refused with INVALID_CONFIG; nothing is changed."""
        before = self.broker.metadata.state
        code, why = self.alter(*changes, group=group)
        self.assertEqual(ErrorCode(code), ErrorCode.INVALID_CONFIG)
        self.assertIs(self.broker.metadata.state, before)
        return why or ""

    def describe(self, group: str = "g") -> Any:
        """Return a group's configs."""
        request = DescribeConfigsRequest([DescribeConfigsResource(GROUP, group, None)], True, True)
        (result,) = self.ask(32, 4, request).results
        return result

    def shown(self, group: str = "g") -> dict[str, tuple[str | None, int]]:
        """Return names, values and sources."""
        result = self.describe(group)
        self.assertEqual((result.error_code, result.resource_type), (0, GROUP))
        return {config.name: (config.value, config.config_source) for config in result.configs}


class DescribeTests(GroupConfigsTestCase):
    def test_from_the_broker(self) -> None:
        """A group without configs has the broker's values, even if the group does not exist."""
        for group in ("g", "none"):
            self.assertEqual(
                self.shown(group), {SESSION: ("45000", DEFAULT), HEARTBEAT: ("4000", BROKER_GIVEN)}
            )

    def test_own(self) -> None:
        """A group's own value comes first, and the broker's values follow as synonyms."""
        self.assertEqual(self.alter((HEARTBEAT, SET, "6000")), (0, None))
        self.assertEqual(self.shown(), {SESSION: ("45000", DEFAULT), HEARTBEAT: ("6000", OWN)})
        self.assertEqual(self.shown("other")[HEARTBEAT], ("4000", BROKER_GIVEN))
        heartbeat = next(config for config in self.describe().configs if config.name == HEARTBEAT)
        self.assertEqual(
            [(one.name, one.value, one.source) for one in heartbeat.synonyms],
            [
                (HEARTBEAT, "6000", OWN),
                (f"group.{HEARTBEAT}", "4000", BROKER_GIVEN),
                (f"group.{HEARTBEAT}", "5000", DEFAULT),
            ],
        )
        self.assertEqual((heartbeat.read_only, heartbeat.is_sensitive), (False, False))
        self.assertTrue(heartbeat.documentation)

    def test_no_name(self) -> None:
        """An empty group name is refused, since there are no defaults of all groups."""
        self.assertEqual(self.describe("").error_code, ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.alter((SESSION, SET, "50000"), group="")[0], ErrorCode.INVALID_REQUEST)


class AlterTests(GroupConfigsTestCase):
    def test_set_and_delete(self) -> None:
        """A config is set and deleted again, which leaves the group without configs."""
        self.assertEqual(self.alter((SESSION, SET, "50000"), (HEARTBEAT, SET, "7000")), (0, None))
        self.assertEqual(
            self.broker.metadata.state.group_configs, {"g": {SESSION: "50000", HEARTBEAT: "7000"}}
        )
        self.alter((SESSION, DELETE, None))
        self.assertEqual(self.shown(), {SESSION: ("45000", DEFAULT), HEARTBEAT: ("7000", OWN)})
        self.alter((HEARTBEAT, DELETE, None))
        self.assertEqual(self.broker.metadata.state.group_configs, {})

    def test_validate_only(self) -> None:
        """A request with validate_only changes nothing."""
        self.assertEqual(self.alter((SESSION, SET, "50000"), validate_only=True), (0, None))
        self.assertEqual(self.broker.metadata.state.group_configs, {})

    def test_bounds(self) -> None:
        """Values are bounded by the broker; the message names the settings of the bounds."""
        for name, low, high in ((SESSION, 45_000, 60_000), (HEARTBEAT, 5_000, 15_000)):
            for value in (low, high):
                self.assertEqual(self.alter((name, SET, str(value))), (0, None))
            for value in (low - 1, high + 1, 0, -1, 2**31):
                self.assertIn(f"{name}={value}", self.refused((name, SET, str(value))))
        why = self.refused((SESSION, SET, "44999"))
        self.assertIn("45000 (group.consumer.min.session.timeout.ms)", why)
        self.assertIn("60000 (group.consumer.max.session.timeout.ms)", why)

    def test_bad_values(self) -> None:
        """Text in place of a number, null, list operations and unknown configs are refused."""
        self.assertIn(SESSION, self.refused((SESSION, SET, "soon")))
        self.assertIn(SESSION, self.refused((SESSION, SET, "")))
        self.assertEqual(self.alter((SESSION, SET, None))[0], ErrorCode.INVALID_REQUEST)
        for operation in (APPEND, SUBTRACT):
            self.assertIn("not LIST", self.refused((SESSION, operation, "50000")))
        self.assertEqual(self.refused(("nope", SET, "1")), "Unknown group config name: nope")

    def test_replace(self) -> None:
        """AlterConfigs replaces all configs of a group."""
        self.alter((SESSION, SET, "50000"))
        for given, expected in (([(HEARTBEAT, "6000")], {"g": {HEARTBEAT: "6000"}}), ([], {})):
            asked = alter_configs.AlterConfigsResource(
                GROUP, "g", [alter_configs.AlterableConfig(*one) for one in given]
            )
            (result,) = self.ask(33, 2, alter_configs.AlterConfigsRequest([asked])).responses
            self.assertEqual(result.error_code, 0)
            self.assertEqual(self.broker.metadata.state.group_configs, expected)

    def test_many_groups(self) -> None:
        """The number of groups with configs is bounded; those with configs may change them."""
        self.patch(configs, "MOST_GROUPS", 2)
        for group in ("a", "b"):
            self.assertEqual(self.alter((SESSION, SET, "50000"), group=group), (0, None))
        self.assertEqual(self.alter((SESSION, SET, "50000"), group="c")[0], ErrorCode.POLICY_VIOLATION)
        self.assertEqual(self.alter((SESSION, SET, "51000"), group="a"), (0, None))
        self.alter((SESSION, DELETE, None), group="b")
        self.assertEqual(self.alter((SESSION, SET, "50000"), group="c"), (0, None))


class TogetherTests(GroupConfigsTestCase):
    settings: ClassVar[Mapping[str, str]] = {"group.consumer.min.session.timeout.ms": "5000"}

    def test_heartbeats_within_the_session(self) -> None:
        """The session timeout must exceed the heartbeat interval, whichever of them is changed."""
        self.assertIn("must be below", self.refused((SESSION, SET, "5000")))
        self.assertEqual(self.alter((SESSION, SET, "6000")), (0, None))
        self.assertIn("must be below", self.refused((HEARTBEAT, SET, "6000")))
        self.assertEqual(self.alter((HEARTBEAT, SET, "6000"), (SESSION, SET, "7000")), (0, None))


class HonouredTests(GroupConfigsTestCase):
    """The effect of a group's configs on its members."""

    def test_heartbeat_interval(self) -> None:
        """Members get the group's interval with their next heartbeat; those of other groups do not."""
        self.assertEqual(self.beat("a").heartbeat_interval_ms, 4000)
        self.alter((HEARTBEAT, SET, "9000"))
        self.assertEqual(self.beat("a", epoch=1).heartbeat_interval_ms, 9000)
        self.alter((HEARTBEAT, DELETE, None))
        self.assertEqual(self.beat("a", epoch=1).heartbeat_interval_ms, 4000)

    def test_session_timeout(self) -> None:
        """A silent member is removed after the group's session timeout, not the broker's."""
        self.alter((SESSION, SET, "60000"))
        self.beat("a")
        group = groups_of(self.broker)["g"]
        self.clock.advance(59.9)
        self.assertTrue(group.has_members)
        self.clock.advance(0.2)
        self.assertFalse(group.has_members)

    def test_bounds_that_moved(self) -> None:
        """A value beyond the current bounds counts as the nearest value within them."""
        alter = self.broker.metadata.alter_group_configs
        self.successResultOf(alter("g", lambda old: {HEARTBEAT: "16000", SESSION: "1"}))
        settings = self.broker.groups.settings_of("g")
        self.assertEqual(
            (settings.consumer_heartbeat_interval_ms, settings.consumer_session_timeout_ms), (15_000, 45_000)
        )

    def test_unreadable(self) -> None:
        """An unreadable or unknown stored value counts as not set, and can be replaced."""
        alter = self.broker.metadata.alter_group_configs
        self.successResultOf(alter("g", lambda old: {HEARTBEAT: "soon", "of.the.future": "1"}))
        self.assertEqual(self.beat("a").heartbeat_interval_ms, 4000)
        self.assertEqual(self.shown()[HEARTBEAT][0], "4000")
        self.assertEqual(self.alter((HEARTBEAT, SET, "6000")), (0, None))
        self.assertEqual(self.beat("a", epoch=1).heartbeat_interval_ms, 6000)
