"""Commits that no SQL makes: written through the engine's transaction or its log store."""
