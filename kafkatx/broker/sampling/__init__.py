"""The timer that samples a broker for charts: it reads what the broker counts; a small file keeps it."""
