"""The Twisted client library: producer, consumers and admin client."""

from kafkatx.client.admin.admin import Admin
from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.consumer.group.rebalance import RebalanceListener
from kafkatx.client.legacy.consumer_connector import ConsumerConnector
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.client.legacy.simple_consumer import SimpleConsumer
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.legacy.simple_consumer import FetchRequest, MessageSet
from kafkatx.clientcore.legacy.topic_filter import Blacklist, Whitelist
from kafkatx.clientcore.producer.values import BatchMetadata, ProducerData, ProducerRecord, RecordMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.networkclient.cluster import Cluster

__all__ = [
    "Admin",
    "BatchMetadata",
    "Blacklist",
    "ClientSettings",
    "Cluster",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerConnector",
    "FetchRequest",
    "MessageSet",
    "MessageStream",
    "OffsetAndMetadata",
    "Producer",
    "ProducerData",
    "ProducerRecord",
    "RebalanceListener",
    "Record",
    "RecordMetadata",
    "Resource",
    "ResourceType",
    "SimpleConsumer",
    "Whitelist",
]
