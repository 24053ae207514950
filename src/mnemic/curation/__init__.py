"""The curator proposes what to promote, archive, prune, merge and supersede, and applies what is approved."""
