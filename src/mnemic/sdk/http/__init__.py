"""The SDK over HTTP: one table of routes, the encoding of calls, the client."""
