"""The REST server: `mnemic serve`. Needs the extra `server`."""
