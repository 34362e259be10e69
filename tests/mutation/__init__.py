"""A mutation tester: small faults are put into the source, and the tests should notice."""
