"""Writing memories: `pipeline` tells the story, the other modules are its stages."""
