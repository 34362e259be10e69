"""Learning models from logs."""
