"""The rules of a ConsumerConnector's group over ZooKeeper: nodes, assignment, one member's steps. Pure."""
