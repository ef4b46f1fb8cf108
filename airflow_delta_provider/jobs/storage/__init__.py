"""Access to the files of tables: local file systems, object stores and fsspec, each without a JVM."""
