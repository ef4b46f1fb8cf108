"""Reading and comparing the ids of rows, for tables of any format."""
