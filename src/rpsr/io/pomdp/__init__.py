"""The `.pomdp` format: its reader and its writer."""
