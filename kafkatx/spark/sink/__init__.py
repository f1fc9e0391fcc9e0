"""Tables into topics: ``df.write.format("kafkatx")`` and ``df.writeStream.format("kafkatx")``.

Rows come as Arrow batches and are encoded column by column: no Python object is made of a row. At least once:
a task that is run again writes its rows again.
"""
