"""The broker itself: ``kafkatx up``, ``status``, ``stop``, and the plugins that it finds."""
