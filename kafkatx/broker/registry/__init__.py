"""The schema registry in the broker: :mod:`kafkatx.registry` over the partition ``_schemas-0``."""
