"""Topics as tables in PySpark: ``spark.read.format("kafkatx")``, and a demonstration.

Workers use :mod:`kafkatx.blocking`; no Twisted, no connector jar. What is imported in them is kept small.
"""
