"""The Delta table features that engines read and write, by release: one record per engine, with its sources."""
