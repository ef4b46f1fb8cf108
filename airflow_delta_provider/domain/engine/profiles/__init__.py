"""What engines read and write of Delta's table features, by release: a record per engine, with its sources."""
