"""The command line. A command parses, calls the SDK and formats; it has no powers of its own."""
