"""Files through Hadoop's FileSystem."""
