"""Which rule judges each normative sentence of the protocol's documents, and which damage shows that it does."""
