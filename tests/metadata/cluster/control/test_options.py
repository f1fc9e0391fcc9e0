"""Tests of the settings that the controller acts by."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.metadata.cluster.control.options import ConfiguredRules, ControllerOptions
from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.types import ALL_BROKERS, ClusterState, Topic
from tests.metadata.controller.cases import topic

UNCLEAN, MIN_INSYNC = "unclean.leader.election.enable", "min.insync.replicas"


def state(**defaults: str) -> ClusterState:
    """Return a state with dynamic defaults."""
    named = {name.replace("_", "."): value for name, value in defaults.items()}
    return ClusterState("c", 1, broker_configs={ALL_BROKERS: named})


class RulesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make rules of a broker with settings of its own."""
        self.rules = ConfiguredRules(BrokerConfig.load(overrides={MIN_INSYNC: "2"}))

    def found(self, configs: dict[str, str], known: ClusterState) -> TopicRules:
        """Return the rules of a topic with some configs."""
        return self.rules(known)(Topic("T", topic("T").topic_id, (), configs))

    def test_precedence(self) -> None:
        """A topic's configs count first, then the dynamic defaults, then the broker's settings."""
        self.assertEqual(self.found({}, ClusterState("c", 1)), TopicRules(False, 2))
        defaults = state(min_insync_replicas="3", unclean_leader_election_enable="true")
        self.assertEqual(self.found({}, defaults), TopicRules(True, 3))
        configs = {MIN_INSYNC: "4", UNCLEAN: "false"}
        self.assertEqual(self.found(configs, defaults), TopicRules(False, 4))
        self.assertEqual(self.found({}, state()), TopicRules(False, 2))

    def test_wrong(self) -> None:
        """Values that are not allowed, which a tool has written, count as not set."""
        self.assertEqual(self.found({MIN_INSYNC: "x", UNCLEAN: "maybe"}, state()), TopicRules(False, 2))
        self.assertEqual(self.found({}, state(min_insync_replicas="-3")), TopicRules(False, 2))

    def test_options(self) -> None:
        """Partitions are given back at the interval of the settings, unless these say not to."""
        options = ControllerOptions.of(BrokerConfig.load())
        self.assertEqual((options.balance_interval_s, options.imbalance_percentage), (300.0, 10))
        off = ControllerOptions.of(BrokerConfig.load(overrides={"auto.leader.rebalance.enable": "false"}))
        self.assertIsNone(off.balance_interval_s)
