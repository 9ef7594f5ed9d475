"""Explanations as drawings: a page with the forward and backward graphs side by side, and text for Graphviz.

The page is HTML and SVG written out here: no scripts, fonts or pictures from elsewhere.
"""

import html

_COLOURS = {"rule": "#dfe9f5", "overridden": "#f7c873", "stopped": "#e9a1a1", "not differentiable": "#e9a1a1",
            "no rule": "#d96c6c", "rule failed": "#d96c6c", "no gradient dtype": "#dddddd",
            "no gradient arrives": "#eeeeee", "inside a group": "#f3e2bd"}
_WIDTH, _HEIGHT, _GAP, _TOP = 190, 34, 14, 22  # of a box, in pixels
_MOST = 400  # boxes drawn; beyond, the table alone is readable
_STYLE = """
.regrad {font: 13px system-ui, sans-serif; color: #222; background: #fff}
.regrad svg {font: 11px system-ui, sans-serif; max-width: 100%}
.regrad details {margin: 2px 0 2px 14px} .regrad summary {cursor: pointer}
.regrad code {font-size: 12px; white-space: pre-wrap}
.regrad .step {margin: 2px 0 2px 14px; padding: 2px 6px; border-left: 4px solid #ccc}
.regrad td, .regrad th {text-align: left; padding: 2px 8px; vertical-align: top}
.regrad .pair {display: flex; gap: 24px; flex-wrap: wrap}
"""


def page(explanation):
    """Returns a whole HTML page."""
    return ("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Gradient of "
            f"{html.escape(', '.join(explanation.ys))}</title></head><body>{fragment(explanation)}</body></html>\n")


def fragment(explanation):
    """Returns the inside of a page, as notebooks show it."""
    tables = "".join(t.html() for t in explanation.tables()[1:])
    legend = " ".join(f"<span style='background:{c};padding:1px 6px'>{s}</span>" for s, c in _COLOURS.items())
    return (f"<div class='regrad'><style>{_STYLE}</style>{tables}<p>{legend}</p>{_side_by_side(explanation)}"
            f"<details open><summary>{len(explanation.steps)} operations by name scope</summary>"
            f"{_scopes(explanation.steps)}</details></div>")


# -- name scopes that fold ------------------------------------------------------------------------


def _scopes(steps):
    tree = {}
    for step in reversed(steps):
        node = tree
        *scopes, leaf = step.name.split("/")
        for scope in scopes:
            node = node.setdefault(scope + "/", {})
        node[leaf] = step
    return _folded(tree)


def _folded(tree):
    parts, stack = [], [(iter(tree.items()), "")]
    while stack:  # scopes may nest deeper than Python's calls
        items, closing = stack[-1]
        for name, inside in items:
            if isinstance(inside, dict):
                steps = _steps_in(inside)
                marked = sum(s.status == "overridden" for s in steps)
                note = f" ({len(steps)} operations{f', {marked} overridden' if marked else ''})"
                parts.append(f"<details{' open' if len(steps) <= 30 else ''}><summary>{html.escape(name)}{note}</summary>")
                stack.append((iter(inside.items()), "</details>"))
                break
            parts.append(_told(inside))
        else:
            stack.pop()
            parts.append(closing)
    return "".join(parts)


def _steps_in(tree):
    found, stack = [], [tree]
    while stack:
        for inside in stack.pop().values():
            (stack if isinstance(inside, dict) else found).append(inside)
    return found


def _told(step):
    line = f"<br><code>{html.escape(step.line)}</code>" if step.line else ""
    made = f"<br>builds {html.escape(', '.join(m[1] for m in step.made))}" if step.made else ""
    mark = " <b>overridden</b>" if step.status == "overridden" else ""
    return (f"<div class='step' style='border-color:{_COLOURS[step.status]}'><b>{html.escape(step.name)}</b> "
            f"({html.escape(step.type)}){mark}, {html.escape(step.at)}{line}<br>{html.escape(step.says())}{made}</div>")


# -- the two graphs ---------------------------------------------------------------------------------


def _side_by_side(explanation):
    steps = explanation.steps[::-1]  # forward order
    if len(steps) > _MOST:
        return f"<p>{len(steps)} operations are too many to draw; up to {_MOST} are drawn.</p>"
    row = _layers(steps)
    columns = {}
    place = {}
    for step in steps:
        column = columns[row[step.op]] = columns.get(row[step.op], -1) + 1
        place[step.op] = (column * (_WIDTH + _GAP), _TOP + row[step.op] * (_HEIGHT + 2 * _GAP))
    if not place:
        return ""
    width = max(x for x, _ in place.values()) + _WIDTH + 2
    height = max(y for _, y in place.values()) + _HEIGHT + 24
    forward = _svg("Forward", width, height, steps, place, lambda s: (_short(s.name), s.type), _forward_edges(steps))
    backward = _svg("Backward", width, height, steps, place,
                    lambda s: (s.rule or s.status, " ".join(m[1] for m in s.made) or "-"),
                    [(a, b) for a, b in _backward_edges(steps)])
    return f"<div class='pair'>{forward}{backward}</div>"


def _layers(steps):
    row = {}
    for step in steps:
        row[step.op] = 1 + max((row[t.op] for t in step.op.inputs if t.op in row), default=-1)
    return row


def _forward_edges(steps):
    here = {s.op for s in steps}
    return [(t.op, s.op) for s in steps for t in s.op.inputs if t.op in here]


def _backward_edges(steps):
    here = {s.op for s in steps}
    return [(s.op, t.op) for s in steps for t, to in zip(s.op.inputs, s.to) if to and t.op in here]


def _svg(title, width, height, steps, place, words, edges):
    lines, boxes = [], []
    for a, b in edges:
        (xa, ya), (xb, yb) = place[a], place[b]
        down = ya < yb
        start, end = (ya + _HEIGHT, yb) if down else (ya, yb + _HEIGHT)
        lines.append(f"<line x1='{xa + _WIDTH // 2}' y1='{start}' x2='{xb + _WIDTH // 2}' y2='{end}' stroke='#888' "
                     f"marker-end='url(#head-{title})'/>")
    for s in steps:
        x, y = place[s.op]
        first, second = words(s)
        edge = "#b36b00' stroke-width='2.5" if s.status == "overridden" else "#777"
        boxes.append(f"<g><title>{html.escape(f'{s.name} ({s.type})')}&#10;{html.escape(s.at)}: {html.escape(s.line)}&#10;"
                     f"{html.escape(s.says())}</title><rect x='{x}' y='{y}' width='{_WIDTH}' height='{_HEIGHT}' rx='4' "
                     f"fill='{_COLOURS[s.status]}' stroke='{edge}'/><text x='{x + 6}' y='{y + 14}'>{html.escape(_short(first))}"
                     f"</text><text x='{x + 6}' y='{y + 28}' fill='#555'>{html.escape(_short(second))}</text></g>")
    return (f"<svg role='img' aria-label='{title} graph' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>"
            f"<defs><marker id='head-{title}' markerWidth='7' markerHeight='7' refX='6' refY='3' orient='auto'>"
            f"<path d='M0,0 L6,3 L0,6 z' fill='#888'/></marker></defs><text x='2' y='13' font-weight='bold'>{title}</text>"
            f"{''.join(lines)}{''.join(boxes)}</svg>")


def _short(text, most=30):
    return text if len(text) <= most else "…" + text[1 - most:]


# -- Graphviz ---------------------------------------------------------------------------------------


def dot(explanation):
    """Returns a directed graph for Graphviz: full edges forward, dashed ones where gradients go back."""
    def quoted(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    steps = explanation.steps[::-1]
    names = {s.op: s.name for s in steps}
    lines = ["digraph gradient {", '  node [shape=box, style=filled, fontname="sans-serif"];']
    for s in steps:
        bold = ", penwidth=3" if s.status == "overridden" else ""
        label = quoted(f"{s.name}\n{s.type}: {s.rule or s.status}")
        lines.append(f'  {quoted(s.name)} [label={label}, fillcolor="{_COLOURS[s.status]}"{bold}, tooltip={quoted(s.at)}];')
    lines += [f"  {quoted(names[a])} -> {quoted(names[b])};" for a, b in _forward_edges(steps)]
    lines += [f"  {quoted(names[a])} -> {quoted(names[b])} [style=dashed, constraint=false];"
              for a, b in _backward_edges(steps)]
    return "\n".join([*lines, "}", ""])
