"""Sets of row positions, in the bytes that table formats keep them in."""
