"""The tiers beside the memories: state documents, append-only events, documents, flagged actors."""
