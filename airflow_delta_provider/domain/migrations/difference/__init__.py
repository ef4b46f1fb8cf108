"""How a table differs from what its spec declares."""
