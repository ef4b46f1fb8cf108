"""The family ``LG``: files of the log, and what they say together."""
