"""What the Parquet format says of a file, read from its footer."""
