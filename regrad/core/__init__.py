"""What a graph is, with NumPy alone. Where to begin: docs/architecture.md, "An hour's reading"."""
