"""Row tracking: what the log, the footers and the ids of the rows have to say for row ids to be unique and stable."""
