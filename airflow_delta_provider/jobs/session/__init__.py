"""The Spark session of a job, and its Python process."""
