"""``docs/clients.md`` is made of what is kept, and nothing that failed is lost in it."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from tests.clients import page
from tests.clients.features import FAIL, FEATURES, NO_TOOLCHAIN, NOT_OFFERED, PASS, Outcome, Result
from tests.clients.leader_dies import LOCAL, ZOOKEEPER, Death
from tests.clients.toolchains import HERE


def outcome(result: str, detail: str = "") -> Outcome:
    """The same of every feature."""
    return Outcome("1.2", {name: Result(result, detail) for name in FEATURES})


class PageTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep results apart from the real ones."""
        folder = self.mktemp()
        self.patch(page, "RESULTS", folder)

    def test_up_to_date(self) -> None:
        """The page is what the results in the repository give."""
        self.patch(page, "RESULTS", os.path.join(HERE, "results"))
        with open(page.PAGE) as file:
            self.assertEqual(file.read(), page.kept_page())

    def test_failure_is_told(self) -> None:
        """A failure is in the table, and its reason below."""
        text = page.page({"kcat": outcome(FAIL, "no leader")}, {})
        self.assertIn("| fail ", text)
        self.assertIn("fail: no leader", text)

    def test_control(self) -> None:
        """Features that fail with Apache Kafka are named in the control column."""
        control = outcome(PASS)
        control.results["commit"] = Result(FAIL, "")
        text = page.page({"kcat": outcome(PASS)}, {"kcat": control})
        self.assertIn("fails: commit", text)

    def test_three_brokers(self) -> None:
        """A failure in a cluster is told beside what went well with one broker."""
        cluster = outcome(PASS)
        text = page.page({"kcat": outcome(PASS)}, {}, cluster={"kcat": cluster})
        self.assertIn(f"{len(FEATURES)} pass", text)
        cluster.results["group"] = Result(FAIL, "")
        self.assertIn("fails: group", page.page({"kcat": outcome(PASS)}, {}, cluster={"kcat": cluster}))

    def test_keep(self) -> None:
        """Results of one client take the place of its older ones and leave those of others."""
        page.keep("kafkatx", {"kcat": outcome(PASS), "aiokafka": outcome(PASS)})
        page.keep("kafkatx", {"kcat": outcome(FAIL, "why\nand a traceback")})
        kept = page.load("kafkatx")
        self.assertEqual(kept["kcat"].results["consume"], (FAIL, "why"))
        self.assertEqual(kept["aiokafka"].results["consume"], (PASS, ""))

    def test_keep_features(self) -> None:
        """A run of some features leaves what is kept of the others."""
        page.keep("kafkatx", {"kcat": outcome(PASS)})
        page.keep("kafkatx", {"kcat": Outcome("", {"commit": Result(FAIL, "why")})})
        kept = page.load("kafkatx")["kcat"]
        self.assertEqual((kept.version, kept.results["consume"].result), ("1.2", PASS))
        self.assertEqual(kept.results["commit"].result, FAIL)

    def test_no_toolchain(self) -> None:
        """A machine without a client's toolchain leaves what another has found; without that it is shown."""
        page.keep("kafkatx", {"kafkajs": outcome(NO_TOOLCHAIN)})
        self.assertEqual(page.load("kafkatx")["kafkajs"].results["consume"].result, NO_TOOLCHAIN)
        page.keep("kafkatx", {"kafkajs": outcome(PASS)})
        page.keep("kafkatx", {"kafkajs": outcome(NO_TOOLCHAIN)})
        self.assertEqual(page.load("kafkatx")["kafkajs"].results["consume"].result, PASS)

    def test_deaths(self) -> None:
        """Figures of leaders that died are kept by client, and are on the page."""
        page.keep_deaths(LOCAL, {"kafka-python": Death("3", Result(PASS, "9 sent\nmore"), 2.34, 60.4)})
        page.keep_deaths(
            LOCAL,
            {"aiokafka": Death("1", Result(FAIL, "lost")), "kafka-python": Death("3", Result(NO_TOOLCHAIN))},
        )
        page.keep_deaths(ZOOKEEPER, {"aiokafka": Death("1", Result(PASS, "8 sent"), 7.0)})
        kept = page.load_deaths(LOCAL)
        self.assertEqual(kept["kafka-python"].result, (PASS, "9 sent"))
        text = page.page({}, {}, page.load_all_deaths())
        self.assertIn("| 2.3 s | 60 s | 9 sent", text)
        self.assertIn("| fail ", text)
        self.assertIn("| 7.0 s | 0 s | 8 sent", text)

    def test_not_offered(self) -> None:
        """Features that are not offered have their reason below the table."""
        self.assertIn(
            "not offered: it has none", page.page({"kcat": outcome(NOT_OFFERED, "it has none")}, {})
        )
