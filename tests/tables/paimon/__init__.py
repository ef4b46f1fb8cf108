"""Tables that Apache Paimon's own Spark connector wrote, and ways to change their files."""
