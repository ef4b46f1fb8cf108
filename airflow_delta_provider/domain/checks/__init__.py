"""Rules for tables and requests, with their texts and checks, one package per family."""
