"""The Delta transaction log protocol as values and pure functions (PROTOCOL.md of delta-io/delta)."""
