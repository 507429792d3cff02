"""The parity room: upstream PyTorch as the oracle, and the comparison of a package with it."""
