"""Parts that verbs share: options, opening sources, output, progress, Ctrl-C."""
