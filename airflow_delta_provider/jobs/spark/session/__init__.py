"""Getting a Spark session, its settings, and what its errors mean."""
