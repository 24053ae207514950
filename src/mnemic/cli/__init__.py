"""The command line. Each command parses its options, calls the SDK and prints the result."""
