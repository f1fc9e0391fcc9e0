"""``python -m kafkatx.demo.pipeline [FILE]``: the deployment of the Kafka paper (section 4) on one machine.

Front ends, a live data centre, a mirror, the data centre for offline analysis, and the warehouse, each made
of programs of their own; at the end the audit of what went through.
"""
