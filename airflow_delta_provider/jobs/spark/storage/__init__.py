"""Storage through Hadoop's FileSystem."""
