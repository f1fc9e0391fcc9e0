"""Faults, many and at random: ``make faults``. Their modules' names keep them out of ``make test``."""
