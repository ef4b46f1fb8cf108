"""What is known of the live files while a history is gone through, in addition to the files themselves."""
