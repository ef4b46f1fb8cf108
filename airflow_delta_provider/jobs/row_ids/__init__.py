"""Row ids that are read from data files, and the proof that they are unique, for tables of any format."""
