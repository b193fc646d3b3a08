"""The commands of the live side, a module each."""
