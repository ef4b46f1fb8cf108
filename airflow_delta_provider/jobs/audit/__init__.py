"""The job that audits the protocol of tables."""
