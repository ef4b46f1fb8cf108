"""Everything that touches tables: runs on Spark, without Airflow."""
