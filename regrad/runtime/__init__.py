"""Runs graphs: plan -> lower -> compile -> execute. Imports core and JAX, and knows no particular op."""
