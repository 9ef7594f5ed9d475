"""Tables of texts, as reports print and show them."""

import html

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


class Record:
    """One thing that is reported: it prints as a line, and shows itself in a notebook as a small table.

    Subclasses define `__str__`, and `data`, which returns {name: value}.
    """

    __slots__ = ()

    def __repr__(self):
        return f"<{type(self).__name__} {self}>"

    def _repr_html_(self):
        rows = [(k, v) for k, v in self.data().items() if v is not None and v != "" and v != [] and v != {}]
        return Table(str(self), ["", ""], rows).html()
