"""The content of Parquet files: footers, schemas and rows."""
