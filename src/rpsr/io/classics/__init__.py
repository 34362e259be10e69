"""The classic repository of POMDP files: what is in it, and its download."""
