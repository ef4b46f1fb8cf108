"""Table features: what the protocol says of each."""
