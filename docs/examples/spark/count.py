"""Count a topic's records by partition, and write the counts to another: count.py BOOTSTRAP FROM TO.

For spark-submit: which cluster it runs on is not said here.
"""

import sys

from pyspark.sql import SparkSession

from kafkatx.spark import KafkaSource

bootstrap, topic, counts_topic = sys.argv[1:]
spark = SparkSession.builder.appName("count").getOrCreate()
spark.dataSource.register(KafkaSource)  # needed where kafkatx came by --py-files
cluster = {"kafka.bootstrap.servers": bootstrap}
records = spark.read.format("kafkatx").options(**cluster).option("subscribe", topic).load()
counts = records.groupBy("partition").count().coalesce(1).cache()
counts.orderBy("partition").show()
rows = counts.selectExpr("cast(partition AS string) AS key", "cast(count AS string) AS value")
rows.write.format("kafkatx").options(**cluster).option("topic", counts_topic).mode("append").save()
spark.stop()
