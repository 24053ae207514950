"""The SDK: `AsyncMemory`, and `Memory`, its generated synchronous twin."""
