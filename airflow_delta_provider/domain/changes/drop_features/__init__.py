"""The work of dropping a table feature, and the traces that remain afterwards."""
