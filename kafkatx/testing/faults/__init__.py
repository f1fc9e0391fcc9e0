"""Faults that tests inject into an embedded broker: wrong answers, slow ones, lost ones, a full disk."""

from kafkatx.testing.faults.faults import BrokerFaults

__all__ = ["BrokerFaults"]
