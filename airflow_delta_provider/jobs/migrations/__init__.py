"""Jobs about declared states: planning migrations, looking for drift. They read logs, and change nothing."""
