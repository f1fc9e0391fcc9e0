"""The servers of the web site: front ends that produce, and services that read. Each runs as a process."""
