"""The command line: each verb parses its arguments, calls the library and prints the result."""
