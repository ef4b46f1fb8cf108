"""Sets of row positions, in the binary formats of table formats."""
