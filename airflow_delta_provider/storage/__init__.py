"""Reading a table's log without Spark, through Airflow's object storage. Imports of storage are lazy."""
