"""Planning at selected states: planners `pbvi`, `perseus`, `q-learning`, `qmdp` and `fib`."""
