"""The Spark session: how it is obtained, its settings, and the meaning of its errors."""
