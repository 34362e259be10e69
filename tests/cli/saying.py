"""What tests of the command line share."""


def said(err):
    """What was said on standard error, but for the word about compiling on a first run."""
    return err.replace("rpsr: compiling kernels (first run only)\n", "")
