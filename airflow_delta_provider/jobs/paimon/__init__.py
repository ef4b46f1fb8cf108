"""Reading tables of Apache Paimon where Spark can read them."""
