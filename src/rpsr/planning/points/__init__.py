"""Point-based planners `pbvi` and `perseus`, and the approximate `q-learning`, `qmdp` and `fib`."""
