"""Variables: their names and sharing, first values, and assignments."""
