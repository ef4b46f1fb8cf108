"""Proofs about the rows of Paimon tables, and what their connector says."""
