"""The explicit form of PRISM models: one module, a variable for the state, one for observations."""
