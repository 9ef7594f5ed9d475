"""Explanations as drawings: a page with the forward and backward graphs side by side, and text for Graphviz.

The page is a ladder: a rung for each operation, from the xs at the top to the ys at the bottom, with the operation and the line
that made it on the left, what the backward pass does there on the right. Edges run along both sides, downwards and upwards.
Name scopes, loops and branches fold. The page needs nothing else: what a browser runs of it draws the edges, and without that
everything but the edges is there.
"""

import html
import math
import re
import uuid
from collections import Counter

from regrad.core.operation import Operation
from regrad.inspect import flowing
from regrad.inspect.formulas import name_of
from regrad.runtime.plan import body_graphs

_COLOURS = {"rule": "#dfe9f5", "overridden": "#f7c873", "stopped": "#e9a1a1", "not differentiable": "#e9a1a1",
            "no rule": "#d96c6c", "rule failed": "#d96c6c", "no gradient dtype": "#dddddd",
            "no gradient arrives": "#eeeeee", "inside a group": "#f3e2bd"}
_CLASSES = {"rule": "plain", "overridden": "over", "inside a group": "over", "no gradient dtype": "none",
            "no gradient arrives": "none"}  # all others: cut
_OPEN = 60  # operations up to which a scope is unfolded at first
_MOST = 5_000  # rungs drawn; beyond, the explanation as a table or JSON is the thing to read
_CHIPS = 60  # xs named at the top
_DEPTH = 30  # scopes inside scopes; what is deeper is shown as one
_INSIDE = re.compile(r"/(body|branch\d+):")

_STYLE = """
.regrad {--ink: #1d2733; --soft: #66727f; --line: #dbe1e8; --edge: #a9b6c4; --paper: #fff; --panel: #f6f8fa; --blue: #2f6fb5;
  --amber: #b26a00; --amberbg: #fff3da; --red: #b3261e; --redbg: #fdecea; --green: #1b7f4b; --greenbg: #e6f4ec;
  font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1240px; margin: 0 auto;
  padding: 12px 16px}
@media (prefers-color-scheme: dark) {body:not([data-jp-theme-light="true"], .vscode-light) .regrad {DARK}
  body:has(.regrad.page) {background: #151b22}}
body[data-jp-theme-light="false"] .regrad, body.vscode-dark .regrad, html[data-theme="dark"] .regrad {DARK}
.regrad h2 {font-size: 20px; margin: 4px 0} .regrad h3 {font-size: 15px; margin: 18px 0 6px}
.regrad .sub {color: var(--soft); margin: 0 0 10px}
.regrad code, .regrad .at, .regrad .shape {font: 12px ui-monospace, monospace}
.regrad .at, .regrad .shape, .regrad .type, .regrad .builds, .regrad th, .regrad .heads {color: var(--soft)}
.regrad .chip {display: inline-block; border-radius: 10px; padding: 1px 9px; margin: 2px 4px 2px 0; font-size: 13px;
  background: var(--panel); border: 1px solid var(--line)}
.regrad .yes {color: var(--green); background: var(--greenbg); border-color: transparent}
.regrad .no {color: var(--red); background: var(--redbg); border-color: transparent}
.regrad .over.chip {color: var(--amber); background: var(--amberbg); border-color: transparent}
.regrad table {border-collapse: collapse; font-size: 13px}
.regrad td, .regrad th {text-align: left; vertical-align: top; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line)}
.regrad th {font-weight: 500}
.regrad .ladder {position: relative; padding: 0 72px; margin-top: 6px}
.regrad .ladder > svg {position: absolute; left: 0; top: 0; width: 100%; height: 100%; pointer-events: none; overflow: visible}
.regrad .ladder path {fill: none; stroke: var(--edge); stroke-width: 1.2}
.regrad .ladder path.hot {stroke: var(--blue); stroke-width: 2} .regrad .ladder path.back.hot {stroke: var(--amber)}
.regrad .rung, .regrad .heads {display: grid; grid-template-columns: 1fr 1fr; gap: 14px; margin: 4px 0}
.regrad .heads {font-weight: 600}
.regrad .rung > div {border: 1px solid var(--line); border-left: 4px solid var(--blue); border-radius: 6px; padding: 4px 9px;
  min-width: 0; overflow-wrap: anywhere; background: var(--paper)}
.regrad .rung > .b {border-left-width: 1px; border-right: 4px solid var(--blue)}
.regrad .rung.over > div {border-color: var(--amber); background: var(--amberbg)}
.regrad .rung.cut > div {border-color: var(--red)} .regrad .rung.cut > .b {background: var(--redbg)}
.regrad .rung.none > div {border-color: var(--line); color: var(--soft); background: var(--panel)}
.regrad .rung.hot > div {box-shadow: 0 0 0 2px var(--blue)}
.regrad .why {font-size: 12.5px; color: var(--soft)} .regrad .cut .why {color: var(--ink)}
.regrad .grad {display: grid; grid-template-columns: auto 1fr auto; gap: 0 8px; align-items: baseline; margin-top: 2px}
.regrad .grad .to {color: var(--soft); white-space: nowrap} .regrad .grad .eq {font: 13px ui-monospace, monospace}
.regrad .nums {display: flex; gap: 8px; align-items: center; font: 12px ui-monospace, monospace; color: var(--soft);
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; margin-top: 1px; grid-column: 2 / -1}
.regrad .nums .bar {flex: none; width: 72px; height: 6px; border-radius: 3px; background: var(--line); overflow: hidden}
.regrad .nums .bar i {display: block; height: 100%; background: var(--blue)} .regrad .over .bar i {background: var(--amber)}
.regrad .nums .norm {color: var(--ink)} .regrad .nums.ill .norm {color: var(--red); font-weight: 600}
.regrad .rung .shape {float: right} .regrad .rung .builds {font-size: 12.5px}
.regrad .rung .src, .regrad .rung .builds {display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis}
.regrad details.scope {border: 1px solid var(--line); border-radius: 8px; margin: 6px -9px; padding: 0 8px 2px;
  background: var(--panel)}
.regrad summary {cursor: pointer; padding: 3px 2px; font-weight: 600}
.regrad summary .sub {font-weight: 400; margin-left: 6px}
@media (max-width: 760px) {.regrad .ladder {padding: 0 26px}}
"""

_DARK = ("--ink: #dfe6ee; --soft: #93a0ae; --line: #33404d; --edge: #566473; --paper: #151b22; --panel: #1c242d; "
         "--blue: #7db4ee; --amber: #f2b44c; --amberbg: #3a2d12; --red: #ff8a80; --redbg: #3d1d1b; --green: #76d0a0; "
         "--greenbg: #15352a")

# Draws the edges between what is unfolded, again whenever something folds, and lights up those of the rung pointed at.
_SCRIPT = """
(function () {
  var root = document.getElementById("ID"), ladder = root && root.querySelector(".ladder");
  if (!ladder) return;
  var svg = ladder.querySelector("svg"), rungs = Array.from(ladder.querySelectorAll(".rung")), drawn;
  function shown(rung) {  // the rung, or the summary of the outermost folded scope that hides it
    var at = rung, folded = rung.parentElement.closest("details:not([open])");
    while (folded && ladder.contains(folded)) {
      at = folded.querySelector("summary");
      folded = folded.parentElement.closest("details:not([open])");
    }
    return at;
  }
  function edge(a, b, side, box) {
    var x = shown(rungs[a]), y = shown(rungs[b]);
    if (x === y) return;
    var p = x.getBoundingClientRect(), q = y.getBoundingClientRect();
    var from = p.top + p.height / 2 - box.top, to = q.top + q.height / 2 - box.top;
    var key = [side, Math.round(from), Math.round(to)].join();
    if (drawn[key]) return drawn[key].push(a, b);
    var inset = function (r) { return side > 0 ? box.right - r.right : r.left - box.left; };
    var at = function (v) { return side > 0 ? box.width - v : v; };
    var reach = Math.min(46, 9 + Math.sqrt(Math.abs(to - from)) * 1.25);
    var u = at(inset(p)), v = at(inset(q)), m = at(Math.min(inset(p), inset(q)) - reach), head = 6 * side;
    var path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", ["M", u, from, "C", m, from, m, to, v, to,
                            "l", head, -3.5, "m", -head, 3.5, "l", head, 3.5].join(" "));
    path.setAttribute("class", side > 0 ? "back" : "fore");
    path.rungs = drawn[key] = [a, b];
    svg.appendChild(path);
  }
  function draw() {
    var box = ladder.getBoundingClientRect();
    svg.replaceChildren();
    drawn = {};
    rungs.forEach(function (rung, i) {
      rung.dataset.in.split(" ").forEach(function (j) { if (j) edge(+j, i, -1, box); });
      rung.dataset.to.split(" ").forEach(function (j) { if (j) edge(i, +j, 1, box); });
    });
  }
  function light(i) {
    Array.from(svg.children).forEach(function (path) { path.classList.toggle("hot", path.rungs.includes(i)); });
    rungs.forEach(function (rung, j) { rung.classList.toggle("hot", j === i); });
  }
  rungs.forEach(function (rung, i) {
    rung.addEventListener("mouseenter", function () { light(i); });
    rung.addEventListener("mouseleave", function () { light(-1); });
  });
  ladder.addEventListener("toggle", draw, true);
  window.addEventListener("resize", draw);
  draw();
  setTimeout(draw, 200);  // when fonts are there
})();
"""


def page(explanation):
    """Returns a whole HTML page."""
    return ("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
            f"<title>Gradient of {html.escape(', '.join(explanation.ys))}</title></head><body>"
            f"{fragment(explanation, 'regrad page')}</body></html>\n")


def fragment(explanation, classes="regrad"):
    """Returns the inside of a page, as notebooks show it."""
    name = f"regrad-{uuid.uuid4().hex[:8]}"  # one page may hold what several sessions made
    over = len(explanation.overridden())
    missing = sum(not t.gradient for t in explanation.targets)
    counts = [_count(len(explanation.steps), "operation"), f"{over} overridden" if over else "none overridden",
              f"{missing} of {_count(len(explanation.targets), 'x')} without gradient" if missing else "every x has a gradient"]
    tables = "".join(f"<h3>{html.escape(t.title)}</h3>{t.html(title=False)}" for t in explanation.tables()[2:])
    targets = sorted(explanation.targets, key=lambda t: t.gradient)  # what is missing first
    more = f"<span class='chip'>and {len(targets) - _CHIPS} others</span>" if len(targets) > _CHIPS else ""
    return (f"<div class='{classes}' id='{name}'><style>{_STYLE.replace('DARK', _DARK)}</style>"
            f"<h2>Gradient of {html.escape(', '.join(explanation.ys))}</h2><p class='sub'>{'; '.join(counts)}</p>"
            f"<div>{''.join(map(_target, targets[:_CHIPS]))}{more}</div>{tables}{_ladder(explanation)}"
            f"<script>{_SCRIPT.replace('ID', name, 1)}</script></div>")


def _count(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def _target(target):
    state, words = ("yes", "gradient") if target.gradient else ("no", "None: " + target.reason)
    return f"<span class='chip {state}'><b>{html.escape(target.name)}</b> {html.escape(words)}</span>"


# -- the ladder -------------------------------------------------------------------------------------


def _ladder(explanation):
    steps = _as_made(explanation.steps)
    if len(steps) > _MOST:
        return f"<p>{len(steps)} operations are too many to draw; up to {_MOST} are drawn.</p>"
    number = {s.op: i for i, s in enumerate(steps)}
    into, back = {}, {}
    for a, b in _forward_edges(steps):
        into.setdefault(number[b], {})[number[a]] = True
    for a, b in _backward_edges(steps):
        back.setdefault(number[a], {})[number[b]] = True
    ends = {c.op: c.why for t in explanation.targets for c in t.cuts if not c.shape_only}
    rungs = [(_place(s.name)[0], s, into.get(i, ()), back.get(i, ()), ends.get(s.name)) for i, s in enumerate(steps)]
    norms = [n for s in steps if s.flow is not None for n in s.flow.norms() if math.isfinite(n)]
    greatest = max(norms, default=1.0) or 1.0
    used = dict.fromkeys(s.status for s in steps)
    legend = " ".join(f"<span class='chip {'no' if _kind(u) == 'cut' else _kind(u)}'>{u}</span>" for u in used if u != "rule")
    return (f"<h3>Forward and backward</h3><div>{legend}</div><div class='ladder'><svg aria-hidden='true'></svg>"
            f"<div class='heads'><div>Forward &darr;</div><div>Backward &uarr;</div></div>{_folded(rungs, greatest)}</div>")


def _kind(status):
    return _CLASSES.get(status, "cut")


def _place(name):
    """Returns (scopes, last part) of an operation's name; a loop's body is a scope inside that of the loop."""
    pieces = _INSIDE.split("/" + name)
    scopes, outer = [], ""
    for i in range(0, len(pieces), 2):
        path = pieces[i].strip("/")
        own = path.removeprefix(outer) if outer and path.startswith(outer) else path
        *above, leaf = own.split("/")
        scopes += above
        if i + 1 < len(pieces):
            scopes.append(f"{leaf}: {pieces[i + 1]}")
            outer = path.rpartition("/")[0] + "/" if "/" in path else ""
    return scopes, leaf


def _as_made(steps):
    """Returns the steps in the order in which the operations were made; what a loop or branch holds follows it."""
    holder = {body: s.op for s in steps if isinstance(s.op, Operation) for body in body_graphs(s.op)}

    def place(step):
        op, ids = step.op, []
        while op is not None:
            ids.append(op.id if isinstance(op, Operation) else max(o.id for o in op.ops))
            op = holder.get(op.graph)
        return ids[::-1]

    return sorted(steps, key=place)


class _Scope:
    """A run of rungs in one name scope: rungs, as tuples, and scopes."""

    def __init__(self, name):
        self.name, self.items, self.total, self.over = name, [], 0, 0


def _folded(rungs, greatest):
    """Returns the rungs as HTML, runs of one scope in a block that folds; `greatest` is the greatest norm of a gradient."""
    root = _Scope("")
    open_ = [root]
    for scopes, step, *more in rungs:
        scopes = scopes[:_DEPTH] + (["/".join(scopes[_DEPTH:])] if len(scopes) > _DEPTH else [])
        common = 0
        while common < min(len(open_) - 1, len(scopes)) and open_[common + 1].name == scopes[common]:
            common += 1
        del open_[common + 1:]
        for name in scopes[common:]:
            scope = _Scope(name)
            open_[-1].items.append(scope)
            open_.append(scope)
        open_[-1].items.append((step, *more))
        for scope in open_:
            scope.total += 1
            scope.over += step.status == "overridden"
    return "".join(_block(item, "", greatest) for item in root.items)


def _block(item, above, greatest):
    """Returns the HTML of a rung or scope; `above` are the names of scopes that hold nothing else."""
    if not isinstance(item, _Scope):
        return _rung(*item, above, greatest)
    if len(item.items) == 1:
        return _block(item.items[0], f"{above}{item.name}/", greatest)
    note = f"<span class='chip over'>{item.over} overridden</span>" if item.over else ""
    return (f"<details class='scope'{' open' if item.total <= _OPEN else ''}><summary>{html.escape(above + item.name)}"
            f"<span class='sub'>{_count(item.total, 'operation')}</span> {note}</summary>"
            f"{''.join(_block(i, '', greatest) for i in item.items)}</details>")


def _rung(step, into, back, end, above, greatest):
    leaf = above + _place(step.name)[1]
    line = f"<code class='src' title='{html.escape(step.line, True)}'>{html.escape(step.line)}</code>" if step.line else ""
    head = html.escape(step.rule or step.status)
    mark = " <span class='chip over'>overridden</span>" if step.status == "overridden" else ""
    told = [html.escape(step.why)] if step.why and step.status == "overridden" else []
    told += [html.escape(step.note)] if step.note else []
    told += [f"a path ends here: {html.escape(end)}"] if end else []
    told = [f"<div class='why'>{t}</div>" for t in told]
    where = f" <span class='at'>{html.escape(step.rule_at)}</span>" if step.rule_at else ""
    ends = f"data-in='{' '.join(map(str, into))}' data-to='{' '.join(map(str, back))}'"
    values = "" if step.flow is None else "".join(f"<div class='nums'>= {html.escape(flowing.shown(v))}</div>"
                                                  for v, _ in zip(step.flow.values, step.outputs) if flowing.shown(v))
    shapes = "<br>".join(html.escape(spec) for _, spec in step.outputs[:4]) + ("<br>..." if len(step.outputs) > 4 else "")
    return (f"<div class='rung {'cut' if end else _kind(step.status)}' {ends}>"
            f"<div class='f' title='{html.escape(step.name, True)}'><span class='shape'>{shapes}</span>"
            f"<b>{html.escape(leaf)}</b> <span class='type'>{html.escape(step.type) if step.type != leaf else ''}</span> "
            f"<span class='at'>{html.escape(step.at)}</span>{line}{values}</div>"
            f"<div class='b' title='{html.escape(step.says(), True)}'><b>{head}</b>{where}{mark}"
            f"{''.join(told)}{_gradients(step, greatest)}</div></div>")


def _gradients(step, greatest):
    """Returns a line for each input that gets a gradient: whose it is, its formula and shape; and the numbers of a run."""
    rows = []
    for i, (to, (name, spec), formula) in enumerate(zip(step.to, step.inputs, step.formulas)):
        if to:
            given = [] if step.flow is None else step.flow.given[i:i + 1]
            eq = f"= {html.escape(formula)}" if formula else "" if step.type in ("While", "If", "Case") else _builds(step)
            short = name_of(step.op.inputs[i])
            rows.append(f"<span class='to' title='gradient of {html.escape(name, True)}'>d<i>{html.escape(short)}</i></span>"
                        f"<span class='eq'>{eq}</span><span class='shape'>{html.escape(spec)}</span>"
                        f"{''.join(_numbers(g, greatest) for g in given)}")
    if step.flow is not None and step.flow.turns:
        norms = [flowing.norm(next((a for a in arriving if a is not None), None)) for _, _, arriving, _ in step.flow.turns]
        words = ", ".join(f"{n:.3g}" for n in norms[:8] if n is not None) + (", ..." if len(norms) > 8 else "")
        rows.append(f"<div class='nums'>&Vert;dy&Vert; turn by turn, last first: {words}</div>")
    return f"<div class='grad'>{''.join(rows)}</div>" if rows else ""


def _builds(step):
    made = ", ".join(f"{n} {kind}" if n > 1 else kind for kind, n in Counter(m[1] for m in step.made).items())
    return f"<span class='builds' title='{made}'>builds {made}</span>" if made else ""


def _numbers(array, greatest):
    """Returns a bar for the norm of a gradient, beside the greatest there is, its norm, and what fits of its numbers."""
    size = flowing.norm(array)
    if size is None:
        return ""
    ill = not math.isfinite(size) or size == 0
    # Norms differ by orders: the bar is empty at a ten-thousandth of the greatest.
    share = 0.0 if ill else max(0.03, 1 + math.log10(max(size / greatest, 1e-4)) / 4)
    numbers = html.escape(flowing.shown(array), True)
    return (f"<div class='nums{' ill' if ill else ''}' title='{numbers}'><span class='bar'><i style='width:{share:.0%}'></i>"
            f"</span><span class='norm'>&Vert;{size:.3g}&Vert;</span> {numbers}</div>")


def _forward_edges(steps):
    here = {s.op for s in steps}
    return [(t.op, s.op) for s in steps for t in s.op.inputs if t.op in here]


def _backward_edges(steps):
    here = {s.op for s in steps}
    return [(s.op, t.op) for s in steps for t, to in zip(s.op.inputs, s.to) if to and t.op in here]


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
