"""The meaning of the table formats: values, rules, plans and the wire format. Standard library only."""
