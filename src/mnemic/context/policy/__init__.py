"""Decisions about levels. Pure: the proxy, the library and the benchmark run the same code."""
