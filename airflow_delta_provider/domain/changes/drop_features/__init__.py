"""What dropping a table feature takes, and what is left of it afterwards."""
