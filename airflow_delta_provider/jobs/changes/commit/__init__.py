"""Commits without SQL, written through the engine's transaction or its log store."""
