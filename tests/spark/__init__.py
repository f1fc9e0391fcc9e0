"""The PySpark source; what needs Spark itself is in tests/integration/test_spark.py."""
