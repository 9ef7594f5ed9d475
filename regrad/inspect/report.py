"""What every report can do: print as a table, show itself in a notebook, turn into JSON."""

import html
import json

from regrad.core.errors import nearest

_LIMIT = 2000  # rows that are shown of a table: a terminal or notebook does not survive a hundred thousand


class Table:
    """A titled table of texts. Of very many rows the first and the last are shown.

    Attributes:
      title: the line above it.
      columns: their headings.
      rows: lists of cells, one per column; anything with a `str`.
    """

    def __init__(self, title, columns, rows):
        self.title = title
        self.columns = list(columns)
        self.rows = [["" if cell is None else str(cell) for cell in row] for row in rows]

    def _shown(self):
        left_out = len(self.rows) - _LIMIT
        if left_out <= 0:
            return self.rows
        gap = [f"... {left_out} rows more, all in .data()", *[""] * (len(self.columns) - 1)]
        return [*self.rows[:_LIMIT // 2], gap, *self.rows[-(_LIMIT // 2):]]

    def __str__(self):
        if not self.rows:
            return self.title
        lines = [self.columns, ["-" * len(c) for c in self.columns], *self._shown()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, *("  " + line for line in text)])

    def html(self, title=True):
        head = "".join(f"<th style='text-align:left'>{html.escape(c)}</th>" for c in self.columns)
        rows = "".join("<tr>" + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in row) + "</tr>"
                       for row in self._shown())
        above = f"<p><b>{html.escape(self.title)}</b></p>" if title else ""
        return above + (f"<table><tr>{head}</tr>{rows}</table>" if rows else "")

    def rich(self):
        from rich.table import Table as RichTable

        table = RichTable(title=self.title, title_justify="left")
        for column in self.columns:
            table.add_column(column, overflow="fold")
        for row in self._shown():
            table.add_row(*(cell.replace("[", "\\[") for cell in row))
        return table


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
