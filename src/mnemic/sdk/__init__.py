"""The SDK: `AsyncMemory`, and the synchronous `Memory` that is generated from it."""
