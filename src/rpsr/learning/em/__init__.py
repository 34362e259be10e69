"""EM: a POMDP fitted to a log, its size chosen by held-out episodes, read as an R-PSR."""
