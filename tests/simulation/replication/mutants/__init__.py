"""Rules of replication taken out of the code, one by one."""
