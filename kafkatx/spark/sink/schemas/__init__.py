"""Keys and values of rows as messages with the schemas of a registry, in Confluent's wire format.

The driver looks the schemas up or registers them when a batch is shipped to its tasks (:mod:`.resolution`);
tasks encode (:mod:`.message_columns`) and register nothing.
"""
