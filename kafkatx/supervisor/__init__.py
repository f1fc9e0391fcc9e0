"""Several brokers on one machine: a supervisor process, and a process for each broker."""
