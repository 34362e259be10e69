"""The POMDPX format of the SARSOP toolkit: factored POMDPs in XML."""
