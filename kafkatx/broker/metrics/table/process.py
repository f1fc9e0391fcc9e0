"""Metrics of the process, with the names that every Prometheus client has. Always there."""

from __future__ import annotations

from kafkatx.broker.metrics.table.row import Family

PROCESS = Family("", "Of the process, always there, where the system has /proc.")

CPU_SECONDS = PROCESS.counter("process_cpu_seconds_total", "User and system time of the process.")
RESIDENT = PROCESS.gauge("process_resident_memory_bytes", "Resident memory of the process.")
VIRTUAL = PROCESS.gauge("process_virtual_memory_bytes", "Virtual memory of the process.")
START_TIME = PROCESS.gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")
OPEN_FDS = PROCESS.gauge("process_open_fds", "Open file descriptors.")
MAX_FDS = PROCESS.gauge("process_max_fds", "Limit of open file descriptors.")
