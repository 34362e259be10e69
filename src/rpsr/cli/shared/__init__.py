"""What verbs share: options, opening sources, output, progress, Ctrl-C."""
