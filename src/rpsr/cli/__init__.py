"""The command line: each verb parses, calls the library and shows; nothing is computed here."""
