"""The partition log: segments on disk as Apache Kafka lays them out, and the same promise in memory."""
