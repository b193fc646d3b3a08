"""The command line."""


def main() -> None:
    """Runs the command line."""
