"""What touches tables: runs on Spark, knows no Airflow."""
