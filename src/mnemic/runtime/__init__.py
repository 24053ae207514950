"""What an open memory runs on: its database, models, workers, background tasks and counters."""
