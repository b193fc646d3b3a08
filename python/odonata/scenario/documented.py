"""What help says of tables and their keys."""

#: What stands between a table's own text and that of its keys.
FIELDS = "\n\nAttributes:\n"


def sentence(text: str, default: object, *, is_required: bool, is_plain: bool) -> str:
    """What is said of a field in help.

    Args:
        text: Its text.
        default: What it is by default.
        is_required: Whether it must be given.
        is_plain: Whether the default is a value that can be shown.
    """
    text = " ".join(text.split())
    if is_required:
        return f"{text} Must be given."
    if default is None or not is_plain or "Default:" in text:
        return text
    return f"{text} Default: {str(default) or 'empty'}."
