"""Webhooks: subscriptions, fan-out of events to jobs, signed delivery."""
