"""Opening a log after a stop or a crash: segments checked, indexes and producer state rebuilt."""
