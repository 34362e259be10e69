"""Plans made at chosen states: planners `pbvi`, `perseus`, `q-learning`, `qmdp` and `fib`."""
