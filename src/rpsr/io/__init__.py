"""Text and bytes to plain frozen records, and back. Knows nothing of the models above it."""
