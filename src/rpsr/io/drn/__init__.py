"""DRN, the explicit format of the model checker Storm."""
