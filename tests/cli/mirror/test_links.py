"""Tests of ``kafkatx mirror add``, ``remove``, ``pause`` and ``resume``."""

from __future__ import annotations

from tests.cli.mirror.link_case import LinkCase


class AddTests(LinkCase):
    def test_add(self) -> None:
        """A link gets its settings, and no other link loses any."""
        self.mirror(
            "add", "dc2", "--source", "k:1,l:2", "--topics", "a.*", "--groups", "g", "--rate", "2M",
            "-s", "request.timeout.ms=5",
        )  # fmt: skip
        self.assertEqual(self.settings["mirror.links"], "dc1,dc2")
        own = {name: value for name, value in self.settings.items() if name.startswith("mirror.dc2.")}
        self.assertEqual(
            own,
            {
                "mirror.dc2.bootstrap.servers": "k:1,l:2",
                "mirror.dc2.topics": "a.*",
                "mirror.dc2.groups": "g",
                "mirror.dc2.rate.bytes": "2000000",
                "mirror.dc2.request.timeout.ms": "5",
            },
        )
        self.assertIn("added the link dc2", self.err.text())

    def test_other_name_of_source(self) -> None:
        """The source may be given as --bootstrap; groups have their default."""
        self.mirror("add", "dc2", "--bootstrap", "k:1", "--topics", "a")
        self.assertEqual(self.settings["mirror.dc2.bootstrap.servers"], "k:1")
        self.assertNotIn("mirror.dc2.groups", self.settings)

    def test_leftovers(self) -> None:
        """Settings of a removed link of this name do not come to life again: they might promote topics."""
        self.settings["mirror.dc2.promoted"] = ".*"
        self.mirror("add", "dc2", "--source", "k:1", "--topics", "a")
        self.assertNotIn("mirror.dc2.promoted", self.settings)

    def test_there_already(self) -> None:
        """A link is not added twice."""
        self.mirror("add", "dc1", "--source", "k:1", "--topics", "a", exit_code=1)
        self.assertIn("there is a link 'dc1' already: change its settings by", self.err.text())
        self.assertEqual(self.settings["mirror.dc1.bootstrap.servers"], "source:1")

    def test_earlier_mirrors(self) -> None:
        """Mirrors of an earlier link of this name are told of."""
        self.cluster.links = {}
        del self.settings["mirror.links"]
        self.mirror("add", "dc1", "--source", "k:1", "--topics", "a")
        self.assertIn("2 topics of an earlier link dc1 are mirrored further", self.err.text())

    def test_bad(self) -> None:
        """Names, expressions and values that are not allowed change nothing."""
        before = dict(self.settings)
        self.mirror("add", "a.b", "--source", "k:1", "--topics", "a", exit_code=1)
        self.assertIn("the link cannot be called 'a.b'", self.err.text())
        for option in ("--topics", "--groups"):
            self.mirror("add", "x", "--source", "k:1", "--topics", "a", option, "(", exit_code=1)
        self.mirror("add", "x", "--source", "k:1", "--topics", "a", "--rate", "fast", exit_code=2)
        self.mirror("add", "x", "--topics", "a", exit_code=2)
        self.mirror("add", "x", "--source", "k:1", exit_code=2)
        self.cluster.refusal = "mirror.x.foo: a link has no such setting"
        self.mirror("add", "x", "--source", "k:1", "--topics", "a", "-s", "foo=1", exit_code=1)
        self.assertIn("a link has no such setting", self.err.text())
        self.assertEqual(self.settings, before)


class RemoveTests(LinkCase):
    def test_remove(self) -> None:
        """The link and its settings go; the topics stay, and their state is told."""
        self.settings["mirror.dc10.topics"] = "x"
        self.mirror("remove", "dc1", "--yes")
        self.assertEqual(self.settings, {"mirror.links": "", "mirror.dc10.topics": "x"})
        self.assertIn(
            "1 topic stays read-only until promoted, by `kafkatx mirror promote dc1`: t\n",
            self.err.text(),
        )

    def test_unknown(self) -> None:
        """An unknown link is an error."""
        self.mirror("remove", "dc9", "--yes", exit_code=1)
        self.assertIn("there is no link 'dc9': see `kafkatx mirror status`", self.err.text())

    def test_not_confirmed(self) -> None:
        """Without --yes nothing happens where no person can be asked."""
        self.mirror("remove", "dc1", exit_code=2)
        self.assertIn("mirror.dc1.topics", self.settings)


class PauseTests(LinkCase):
    def test_all(self) -> None:
        """All topics are paused and resumed."""
        self.mirror("pause", "dc1")
        self.assertEqual(self.settings["mirror.dc1.paused"], ".*")
        self.mirror("resume", "dc1")
        self.assertEqual(self.settings["mirror.dc1.paused"], "")

    def test_some(self) -> None:
        """Some topics are added to the paused ones, and taken from them."""
        self.mirror("pause", "dc1", "-t", "t")
        self.mirror("pause", "dc1", "-t", "u")
        self.assertEqual(self.settings["mirror.dc1.paused"], "t|u")
        self.mirror("resume", "dc1", "-t", "t")
        self.assertEqual(self.settings["mirror.dc1.paused"], "u")

    def test_some_of_all(self) -> None:
        """One topic cannot be taken from an expression for all: what to do is said."""
        self.mirror("pause", "dc1")
        self.mirror("resume", "dc1", "-t", "t", exit_code=1)
        self.assertIn("leave --topic out to reset it", self.err.text())

    def test_unknown(self) -> None:
        """Links and topics that are not there are errors."""
        self.mirror("pause", "dc9", exit_code=1)
        self.mirror("pause", "dc1", "-t", "x", exit_code=1)
        self.assertIn("link dc1 has no mirror 'x'", self.err.text())
        self.assertNotIn("mirror.dc1.paused", self.settings)
