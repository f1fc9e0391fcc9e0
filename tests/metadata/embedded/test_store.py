"""The embedded store: the contract on disk and in memory, and its own behaviour."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import RequestError, SettingError
from kafkatx.interfaces import Worker
from kafkatx.metadata.embedded.ids import kafka_id
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.testing.contracts.metadata_store import NODE, DurableMetadataStoreContract, MetadataStoreContract
from kafkatx.types import BrokerNode, ClusterDelta


def at_once(name: str) -> Worker:
    """Return a worker without a thread."""
    return execute


class EmbeddedOnDiskTests(DurableMetadataStoreContract, SynchronousTestCase):
    """The contract, with a file."""

    def setUp(self) -> None:
        """Name a directory for all stores of the test."""
        self.config = BrokerConfig.load(None, {"log.dirs": self.mktemp()})

    def make_store(self) -> EmbeddedMetadataStore:
        """Return a store without threads."""
        return EmbeddedMetadataStore(self.config, at_once)


class EmbeddedInMemoryTests(MetadataStoreContract, SynchronousTestCase):
    """The contract, in memory."""

    def setUp(self) -> None:
        """Name a directory for all stores of the test."""
        self.directory = self.mktemp()
        self.config = BrokerConfig.load(None, {"log.dirs": self.directory})

    def make_store(self) -> EmbeddedMetadataStore:
        """Return a store without threads."""
        return EmbeddedMetadataStore(self.config, at_once, durable=False)

    def test_nothing_on_disk(self) -> None:
        """A store in memory does not even create the log directory."""
        self.result(self.started().create_topic("clicks", [[3]], {}))
        self.assertFalse(os.path.exists(self.directory))


class EmbeddedTests(SynchronousTestCase):
    """Behaviour that only the embedded store has."""

    def setUp(self) -> None:
        """Name a directory for all stores of the test."""
        self.directory = self.mktemp()
        self.config = BrokerConfig.load(None, {"log.dirs": f"{self.directory},elsewhere"})

    def start(self, store: EmbeddedMetadataStore, node: BrokerNode = NODE) -> None:
        """Start a store; it is stopped at the test's end."""
        self.successResultOf(store.start(node))
        self.addCleanup(lambda: self.successResultOf(store.stop()))

    def refused(self, deferred: Deferred[Any]) -> str:
        """Return the message of the SettingError that a Deferred failed with."""
        return str(self.failureResultOf(deferred, SettingError).value)

    def test_file_in_the_first_log_dir(self) -> None:
        """The state is one file in the first of log.dirs, which is created; the others are not touched."""
        self.start(EmbeddedMetadataStore(self.config, at_once))
        self.assertTrue(os.path.isfile(os.path.join(self.directory, FILE_NAME)))
        self.assertFalse(os.path.exists("elsewhere"))

    def test_other_brokers_data(self) -> None:
        """Data of another broker.id is refused with both ids named, and the file is closed."""
        first = EmbeddedMetadataStore(self.config, at_once)
        self.successResultOf(first.start(NODE))
        self.successResultOf(first.stop())
        message = self.refused(EmbeddedMetadataStore(self.config, at_once).start(BrokerNode(4, "h", 1)))
        self.assertIn("broker.id=4", message)
        self.assertIn("set broker.id=3", message)
        self.start(EmbeddedMetadataStore(self.config, at_once))

    def test_second_broker(self) -> None:
        """A directory that another store has open is refused by name."""
        self.start(EmbeddedMetadataStore(self.config, at_once))
        message = self.refused(EmbeddedMetadataStore(self.config, at_once).start(NODE))
        self.assertIn(f"log.dirs={self.directory}: in use by another broker", message)

    def test_directory_is_a_file(self) -> None:
        """A log.dirs that cannot be a directory is a SettingError that names it."""
        with open(self.directory, "w"):
            pass
        message = self.refused(EmbeddedMetadataStore(self.config, at_once).start(NODE))
        self.assertIn(f"log.dirs={self.directory}: ", message)

    def test_listener_that_fails(self) -> None:
        """An exception of a listener is logged; the change stands and the other listeners are called."""
        store = EmbeddedMetadataStore(self.config, at_once)
        self.start(store)
        heard = []
        store.subscribe(fail)
        store.subscribe(lambda delta: heard.append(delta.after))
        self.successResultOf(store.create_topic("clicks", [[3]], {}))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(heard, [store.state])

    def test_worker_is_where_it_happens(self) -> None:
        """The disk and the state are unchanged before the worker has run."""
        queue = LaterWorker()
        store = EmbeddedMetadataStore(self.config, lambda name: queue)
        started = store.start(NODE)
        created = store.create_topic("clicks", [[3]], {})
        self.assertFalse(os.path.exists(self.directory))
        self.assertNoResult(started)
        queue.run()
        self.successResultOf(started)
        self.assertEqual(self.successResultOf(created).name, "clicks")
        store.stop()
        queue.run()

    def test_changes_that_wait(self) -> None:
        """Changes that wait while another is made are synced together, and published in order."""
        queue = LaterWorker()
        store = EmbeddedMetadataStore(self.config, lambda name: queue)
        self.addCleanup(queue.run)
        store.start(NODE)
        queue.run()
        first = store.generation
        seen: list[list[str]] = []
        store.subscribe(lambda delta: seen.append(sorted(delta.after.topics)))
        created = [store.create_topic(name, [[3]], {}) for name in ("a", "b", "b", "c")]
        deleted = store.delete_topic("b")
        stopped = store.stop()
        queue.run_one()
        self.assertEqual(store.generation, first + 1)
        queue.run_one()
        self.assertEqual(store.generation, first + 2)
        self.failureResultOf(created.pop(2), RequestError)
        self.assertEqual([self.successResultOf(one).name for one in created], ["a", "b", "c"])
        self.successResultOf(deleted)
        self.assertEqual(seen, [["a"], ["a", "b"], ["a", "b", "c"], ["a", "c"]])
        self.assertNoResult(stopped)
        queue.run()
        self.successResultOf(stopped)

    def test_cancelled_change_is_shown(self) -> None:
        """Cancelling ends the waiting, not the change: state and database stay the same."""
        queue = LaterWorker()
        store = EmbeddedMetadataStore(self.config, lambda name: queue)
        store.start(NODE)
        created = store.create_topic("clicks", [[3]], {})
        created.cancel()
        self.failureResultOf(created, CancelledError)
        queue.run()
        self.assertIn("clicks", store.state.topics)
        store.stop()
        queue.run()

    def test_before_the_start(self) -> None:
        """A change before the start fails as a bug."""
        self.failureResultOf(EmbeddedMetadataStore(self.config, at_once).delete_topic("x"), RuntimeError)

    def test_start_twice(self) -> None:
        """A second start fails and leaves the first one's state in place."""
        store = EmbeddedMetadataStore(self.config, at_once)
        self.start(store)
        state = store.state
        self.failureResultOf(store.start(NODE), RuntimeError)
        self.assertIs(store.state, state)

    def test_ids_do_not_look_like_options(self) -> None:
        """Cluster and topic ids whose text begins with '-' are skipped."""
        bad, good, topic = uuid.UUID(int=0xF8 << 120), uuid.UUID(int=1 << 120), uuid.UUID(int=2 << 120)
        ids = iter([bad, good, bad, bad, topic])
        store = EmbeddedMetadataStore(self.config, at_once, new_uuid=lambda: next(ids))
        self.start(store)
        self.assertEqual(store.state.cluster_id, kafka_id(good))
        created = self.successResultOf(store.create_topic("clicks", [[3]], {}))
        self.assertEqual(created.topic_id, topic)


def fail(delta: ClusterDelta) -> None:
    """Fail, as a listener with a bug does."""
    raise ZeroDivisionError


class LaterWorker:
    """A worker that runs its calls when the test says so."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], Any], Deferred[Any]]] = []

    def __call__(self, work: Callable[[], Any]) -> Deferred[Any]:
        """Keep *work* for later."""
        done: Deferred[Any] = Deferred()
        self._waiting.append((work, done))
        return done

    def run(self) -> None:
        """Run all waiting calls."""
        while self._waiting:
            self.run_one()

    def run_one(self) -> None:
        """Run the first waiting call."""
        work, done = self._waiting.pop(0)
        execute(work).addCallbacks(done.callback, done.errback)
