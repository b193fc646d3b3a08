"""The study behind ``pages/dragonfly-theory.md``: a dragonfly measured against its theory."""
