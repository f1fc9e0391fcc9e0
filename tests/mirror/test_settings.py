"""Tests of kafkatx.mirror.settings."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.mirror import table
from kafkatx.mirror.settings import MirrorSettings

LEAST = {
    "sources": "dc1",
    "source.dc1.bootstrap.servers": "a:1",
    "target.bootstrap.servers": "b:2",
}


class SettingsTests(SynchronousTestCase):
    def load(self, **more: str) -> MirrorSettings:
        """Load the least settings and some more."""
        return MirrorSettings.load(
            {**LEAST, **{name.replace("__", "."): text for name, text in more.items()}}
        )

    def refused(self, name: str, text: str, message: str) -> None:
        """Check that a setting is refused with a message."""
        with self.assertRaisesRegex(SettingError, message):
            MirrorSettings.load({**LEAST, name: text})

    def test_least(self) -> None:
        """Sources, their addresses and the target's are enough; the rest has defaults."""
        settings = self.load()
        (source,) = settings.sources
        self.assertEqual(source.names.target("t"), "dc1.t")
        self.assertEqual((source.filter, source.from_end), ("", False))
        self.assertEqual(settings[table.BATCH_RECORDS], 5000)
        self.assertEqual(dict(settings.target), {"client.id": "kafkatx-mirror", "bootstrap.servers": "b:2"})
        self.assertEqual(source.consumer["isolation.level"], "read_committed")
        self.assertEqual(source.consumer["allow.auto.create.topics"], "false")
        self.assertEqual(source.consumer["kafkatx.readahead.bytes"], str(32 << 20))

    def test_of_one_source(self) -> None:
        """A value for one source goes before that for all, which the others keep."""
        settings = self.load(
            sources="dc1, dc2",
            topics="a",
            start="latest",
            **{
                "source.dc2.bootstrap.servers": "c:3",
                "source.dc2.topics": "b",
                "source.dc2.start": "earliest",
                "source.dc2.rename": "{topic}",
                "source.dc2.fetch.max.wait.ms": "7",
            },
        )
        first, second = settings.sources
        self.assertEqual([one.names.copied("a") for one in settings.sources], [True, False])
        self.assertEqual((first.from_end, second.from_end), (True, False))
        self.assertEqual(second.names.target("b"), "b")
        self.assertEqual(second.consumer["fetch.max.wait.ms"], "7")
        self.assertNotIn("fetch.max.wait.ms", first.consumer)
        self.assertEqual(first.consumer["kafkatx.readahead.bytes"], str(16 << 20))

    def test_refused(self) -> None:
        """Wrong settings are refused in a sentence that names them."""
        self.refused("topic", "x", "topic is not a setting of a mirror; did you mean topics")
        self.refused("source.dc3.topics", "x", "sources has no such alias; it has dc1")
        self.refused("sources", "", "sources=")
        self.refused("sources", "dc1,dc1", "an alias is there twice")
        self.refused("sources", "dc.1", "letters, digits")
        self.refused("target.alias", "dc1", "a source has this alias, too")
        self.refused("source.dc1.bootstrap.servers", "", "source.dc1.bootstrap.servers is not set")
        self.refused("target.bootstrap.servers", " ", "target.bootstrap.servers is not set")
        self.refused("source.dc1.fetch.max.wait", "1", r"source.dc1.\* : fetch.max.wait is not a setting")
        self.refused("target.acks", "1", r"target.\* : acks is a setting of the producer")
        self.refused("source.dc1.group.id", "g", "a mirror has no group")
        self.refused("source.dc1.enable.auto.commit", "true", "cannot be set")
        self.refused("source.dc1.start", "soon", "source.dc1.start=soon: the value must be one of")
        self.refused("rate.bytes", "-1", "rate.bytes=-1")
        self.refused("topics", "a(", "topics=.*no regular expression")
        self.refused("groups.exclude", "a(", "groups.exclude=")
        self.refused("rename", "{x}", "rename=")

    def test_file(self) -> None:
        """The file's values are read, and others go before them."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.writelines(f"{name}={text}\n" for name, text in {**LEAST, "topics": "a"}.items())
        (source,) = MirrorSettings.read(path, [("topics", "b")]).sources
        self.assertEqual([source.names.copied(name) for name in "ab"], [False, True])
        with self.assertRaisesRegex(SettingError, "cannot be read"):
            MirrorSettings.read(path + "-not")
