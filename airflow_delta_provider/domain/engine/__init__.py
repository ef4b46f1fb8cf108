"""What a given engine release can do, and how a Spark session for it is set up."""
