"""Apache Kafka and kafkatx read each other's files, and our client talks to Apache Kafka as it does to us.

`make interop` runs this, `make test` does not.

It needs Java and Maven, which copies Apache Kafka's jars into ``.interop/jars`` (see ``pom.xml``). The
modules are not called ``test_*``, so that trial finds them only by name.
"""
