"""Row ids that are read from data files, and the proof that they are unique, in whichever format the table is."""
