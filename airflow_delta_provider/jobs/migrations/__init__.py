"""Jobs about declared states: planning migrations and detecting drift. They read logs, and change nothing."""
