"""The options of the data source, and the values that an ingestion takes from them."""

from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Assign, Selection, Subscribe, SubscribePattern

__all__ = ["Assign", "ClientSettings", "Selection", "Subscribe", "SubscribePattern"]
