"""The broker: a Twisted service that Kafka clients talk to.

:class:`BrokerService` is an ``IService``; its parts are chosen by name with
:func:`kafkatx.tap.installed_parts`, or made by hand.
"""

from kafkatx.broker.service import BrokerService, Parts

__all__ = ["BrokerService", "Parts"]
