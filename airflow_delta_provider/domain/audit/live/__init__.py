"""Facts about the live files that an audit tracks in addition to the files themselves."""
