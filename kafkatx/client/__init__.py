"""The Twisted client: connections to all brokers of a cluster, and what applications do with them."""

from kafkatx.client.admin import Admin
from kafkatx.client.cluster import Cluster
from kafkatx.client.connector import ConsumerConnector
from kafkatx.client.consumer import Consumer
from kafkatx.client.message_streams import MessageStream
from kafkatx.client.producer import Producer
from kafkatx.client.rebalancing import RebalanceListener
from kafkatx.client.simple import SimpleConsumer
from kafkatx.clientside.configs import Resource, ResourceType
from kafkatx.clientside.offsets import OffsetAndMetadata
from kafkatx.clientside.outgoing import BatchMetadata, ProducerData, ProducerRecord, RecordMetadata
from kafkatx.clientside.record import Record
from kafkatx.clientside.settings import ClientSettings
from kafkatx.clientside.simple import FetchRequest, MessageSet
from kafkatx.clientside.subscription import Blacklist, Whitelist

__all__ = [
    "Admin",
    "BatchMetadata",
    "Blacklist",
    "ClientSettings",
    "Cluster",
    "Consumer",
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
