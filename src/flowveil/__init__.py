"""flowveil."""
