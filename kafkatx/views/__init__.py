"""Messages as people see them: decoded, filtered, masked, and encoded from what people type. Pure.

All of it works on bytes that anyone may have written, so the broker has it done in a process that can be
killed: :mod:`~kafkatx.views.worker_process`.
"""
