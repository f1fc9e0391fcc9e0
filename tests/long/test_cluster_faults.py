"""More of what happens to a cluster, to its ZooKeeper and between them."""

from __future__ import annotations

import json
import os
import signal
import threading

from kafkatx.blocking import Admin, Cluster
from tests.integration.test_cluster_faults import NONE, FaultCase, leaders, metadata, write
from tests.until import until


class ServerTests(FaultCase):
    def test_late(self) -> None:
        """A broker that is started before the server serves as soon as the server does."""
        broker = self.broker(1)
        late = threading.Timer(1.0, self.serve)
        late.start()
        broker.start()
        late.join()
        broker.produce(broker.topic("t"), "x")

    def test_new_chroot(self) -> None:
        """The nodes are below the path of the setting, which is created with its parents."""
        self.serve()
        self.chroot = "/a/b"
        self.broker(1).start()
        self.assertEqual(self.zookeeper().get_children("/brokers/ids"), ["1"])

    def test_deleted_by_hand(self) -> None:
        """Logs of a topic whose nodes another program has deleted stay; those of a deleted topic go."""
        self.serve()
        broker = self.broker(1).start()
        gone, deleted = broker.topic("gone"), broker.topic("deleted")
        self.zookeeper().delete(f"/brokers/topics/{gone}", recursive=True)
        until(lambda: not leaders(broker, gone), "the topic is gone")
        with Cluster(broker.bootstrap) as cluster:
            Admin(cluster).delete_topic(deleted)
        until(lambda: not leaders(broker, deleted), "the other topic is deleted")
        assert broker.data_dir is not None
        names = os.listdir(broker.data_dir)
        self.assertIn(f"{gone}-0", names)
        self.assertNotIn(f"{deleted}-0", names)

    def test_foreign_node_later(self) -> None:
        """A node that cannot be read stops nothing that runs; one of an old tool becomes a topic."""
        self.serve()
        broker = self.broker(1).start()
        topic = broker.topic("t")
        client = self.zookeeper()
        client.create("/brokers/topics/bad", b"no JSON")
        client.create("/brokers/topics/old", b'{"version":1,"partitions":{"0":[1],"1":[1]}}')
        self.led(broker, "old", {"0": [1], "1": [1]})
        self.assertIn("topic_id", json.loads(client.get("/brokers/topics/old")[0]))
        self.assertEqual(write(broker, topic, 0), NONE)
        self.writable(broker, "old", 1)
        broker.topic("another")
        self.assertNotIn("bad", metadata(broker).topics)
        self.assertIn("/brokers/topics/bad", broker.output())


class SessionTests(FaultCase):
    def test_watch_lost(self) -> None:
        """Changes that were made while a broker was not connected are seen when it is, and those after."""
        self.serve()
        other = self.broker(1).start()
        broker, proxy = self.proxied(2)
        gone = other.topic("gone")
        until(lambda: gone in metadata(broker).topics, "the topic is known")
        proxy.cut()
        meanwhile = other.topic("meanwhile")
        with Cluster(other.bootstrap) as cluster:
            Admin(cluster).delete_topic(gone)
        proxy.heal()
        until(lambda: meanwhile in metadata(broker).topics, "the topic of that time is known")
        self.assertNotIn(gone, metadata(broker).topics)
        after = other.topic("after")
        until(lambda: after in metadata(broker).topics, "a later topic is known")

    def test_second_controller(self) -> None:
        """A controller that slept while another was elected writes nothing, and follows that one."""
        self.serve()
        first = self.broker(1).start()
        second = self.broker(2).start()
        until(lambda: len(metadata(second).brokers) == 2, "both brokers are known")
        client = self.zookeeper()
        self.assertEqual(client.get("/controller_epoch")[0], b"1")
        self.signal(first, signal.SIGSTOP)
        until(lambda: metadata(second).controller_id == 2, "the second broker is the controller")
        until(lambda: [*metadata(second).brokers] == [2], "the first broker is away")
        topic = second.topic("t", partitions=4)
        self.signal(first, signal.SIGCONT)
        until(lambda: metadata(first).controller_id == 2, "the first broker follows it")
        self.assertEqual(client.get("/controller_epoch")[0], b"2")
        for number in range(4):
            state = json.loads(client.get(f"/brokers/topics/{topic}/partitions/{number}/state")[0])
            self.assertEqual((state["leader"], state["controller_epoch"]), (2, 2))
        until(lambda: sorted(metadata(second).brokers) == [1, 2], "the first broker is registered again")
        both = second.topic("both", partitions=2)
        until(lambda: sorted(leaders(first, both).values()) == [1, 2], "both brokers lead new partitions")
