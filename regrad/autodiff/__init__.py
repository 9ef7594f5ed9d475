"""Gradients as operations of the graph, and everything that replaces a rule. Where to begin: docs/architecture.md."""
