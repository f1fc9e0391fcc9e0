"""The REST API of the registry, as Confluent's registry has it."""
