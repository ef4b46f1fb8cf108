"""What must hold of tables and requests: rules with their texts and their checks, one package per family."""
