"""Proofs about the rows of Paimon tables, by their files and through their connector."""
