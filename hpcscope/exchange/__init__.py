"""Import and export of the formats of other tools."""
