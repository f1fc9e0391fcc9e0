"""The options of the data source, parsed and checked before Spark starts."""
