"""``python -m kafkatx.demo [FILE]``: lines of text through a broker and PySpark to Parquet."""
