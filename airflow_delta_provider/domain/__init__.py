"""What the table formats say: values, rules, plans and the wire format. Standard library only."""
