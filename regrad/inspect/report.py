"""What every report can do: print as a table, show itself in a notebook, turn into JSON."""

import json

from regrad.core.errors import nearest


class Report:
    """Something found out about a graph. Subclasses define `tables` and `data`."""

    def tables(self):
        """Returns the report as a list of `Table`s."""
        raise NotImplementedError

    def data(self):
        """Returns the report as dicts, lists, texts and numbers."""
        raise NotImplementedError

    def to_json(self, indent=1):
        """Returns the report as JSON text; a number that is not finite is written as text."""
        return json.dumps(_plain(self.data()), indent=indent, ensure_ascii=False)

    def show(self):
        """Prints the report: in colour, folded to its width, on a terminal or in a notebook; as plain text elsewhere."""
        from rich.console import Console

        console = Console()
        if console.is_terminal or console.is_jupyter:
            console.print(*(t.rich() for t in self.tables()), sep="\n")
        else:
            print(self)

    def __rich_console__(self, console, options):
        yield from (t.rich() for t in self.tables())

    def __str__(self):
        return "\n\n".join(map(str, self.tables()))

    __repr__ = __str__

    def _repr_html_(self):
        return "".join(t.html() for t in self.tables())


def absent(name, what, there):
    """Returns the KeyError for a `name` that is none of the names `there`, with the nearest of them, or the first."""
    there = list(dict.fromkeys(there))
    more = ", ..." if len(there) > 12 else ""
    return KeyError(f"{name!r} is not among {what}" + (nearest(str(name), there) or f": {', '.join(there[:12])}{more}"))


def _plain(x):
    if isinstance(x, dict):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    if hasattr(x, "item"):
        x = x.item()
    if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
        return str(x)
    return x
