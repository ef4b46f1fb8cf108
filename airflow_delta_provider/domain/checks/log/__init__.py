"""The family ``LG``: the files of the log, and their consistency."""
