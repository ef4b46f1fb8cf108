"""Events as OpenLineage's provider sends them."""
