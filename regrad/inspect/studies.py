"""Studies of overrides: what each one does to the result, which operations they reach, how far surrogates are off."""

import numbers

import numpy as np

from regrad.autodiff.derivatives import forward_gradients
from regrad.autodiff.gradients import as_list, gradients
from regrad.autodiff.overrides import as_overrides
from regrad.autodiff.partials import element
from regrad.autodiff.rules import rule_name
from regrad.core.tabular import Table
from regrad.inspect.explain import OVERRIDDEN, RULE
from regrad.inspect.report import Report
from regrad.inspect.taps import Taps, fetch, part, session_for, whole


class Study(Report):
    """Rows of a study.

    Attributes:
      rows: list of dicts, all with the same keys.
    """

    def __init__(self, title, rows):
        self.title, self.rows = title, rows

    def tables(self):
        columns = list(self.rows[0]) if self.rows else []
        return [Table(self.title, columns, [[_text(r[c]) for c in columns] for r in self.rows])]

    def data(self):
        return {"title": self.title, "rows": self.rows}


def _text(x):
    return "" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)


def ablate(ys, xs, overrides, feed_dict=None, session=None, **options):
    """Leaves out each override in turn and ranks them by what that changes.

    Adds the operations of one `gradients` call per override, and one more; all are run together.

    Args:
      overrides: as of `gradients`: a dict, or a list of `Override`s.
      ys, xs, feed_dict, session, options: as of `diagnose`.

    Returns:
      A `Study`, the most effective override first: `change` is |all - without| / |all| over all xs together, `cosine` the
      angle between the two.
    """
    graph = element(as_list(ys)[0], "y").graph
    given = as_overrides(overrides, graph, "this call")
    kept = [given] + [[o for o in given if o is not left] for left in given]
    grads = [[whole(g) for g in gradients(ys, xs, overrides=some, name="ablate", **options)] for some in kept]
    values = fetch([g for gs in grads for g in gs if g is not None], feed_dict, session)

    def joined(gs):
        sizes = [next(np.size(values[other[i]]) for other in (*grads, [None] * len(gs)) if other[i] is not None)
                 if any(o[i] is not None for o in grads) else 0 for i in range(len(gs))]
        return np.concatenate([np.zeros(n) if g is None else np.ravel(values[g]) for g, n in zip(gs, sizes)])

    whole_one = joined(grads[0])
    rows = []
    for override, without in zip(given, grads[1:]):
        other = joined(without)
        size, norms = np.linalg.norm(whole_one - other), (np.linalg.norm(whole_one), np.linalg.norm(other))
        change = float(size / norms[0]) if norms[0] else float("inf") if size else 0.0
        cosine = float(np.real(np.vdot(whole_one, other)) / norms[0] / norms[1]) if all(norms) else None
        rows.append({"override": repr(override.selector), "rule": rule_name(override.rule), "at": override.where,
                     "change": change, "cosine": cosine})
    return Study(f"What leaving out each of {len(rows)} overrides changes", sorted(rows, key=lambda r: -r["change"]))


def coverage(ys, xs, feed_dict=None, session=None, times_input=False, **options):
    """Tells which operations on the path got a chosen rule, the default or nothing, and what each one conserves.

    Args:
      times_input: True: relevance is gradient times value (modified gradients); False: what flows is relevance itself.
      ys, xs, feed_dict, session, options: as of `diagnose`; `overrides` or `view` hold the relevance rules.

    Returns:
      A `Study`: per operation `rule`, `choice` ("chosen", "default" or "nothing"), the sums of relevance that arrive and
      that are passed on, and `lost`, their relative difference: 0 where relevance is conserved. Constants and biases take
      a share too: what goes to every real input is counted. Operations in loops and branches follow the one that holds
      them, with the sums over all turns.
    """
    def total(tensors, grads):
        """The relevance in `grads`. (A TensorArray that nothing was written to has no value of the gradient's shape.)"""
        return float(sum(np.sum(g * v if times_input else g) for v, g in zip(tensors, grads)
                         if g is not None and (not times_input or v is not None and np.shape(v) == np.shape(g))))

    def inside(op, x, y, arriving, given):
        return total(y, arriving), total(x, given)

    taps = Taps(ys, xs, name="coverage", all_inputs=True, inside=inside, **options)
    forward = [t for op in taps.at if not op.opdef.facts.bodies for t in (*op.inputs, *op.outputs)]
    values = fetch([*taps.tensors(), *(t for t in forward if t.dtype._kind in "fc")], feed_dict, session)
    steps = {s.op: s for s in taps.explanation.steps}
    holds = {}
    for op, sums in taps.log:  # of all turns together
        found = holds.setdefault(taps.outermost(op), {})
        found[op] = np.add(found.get(op, (0.0, 0.0)), sums)

    def row(op, nothing, came, went):
        step = steps.get(op)
        choice = "nothing" if nothing else {OVERRIDDEN: "chosen", RULE: "default"}.get(step.status if step else "", "default")
        lost = float((came - went) / came) if came else float("inf") if went else 0.0
        # What a loop does to relevance times value is told by the operations inside it.
        sums = (None, None, None) if op.opdef.facts.bodies and times_input else (float(came), float(went), lost)
        name, rule = (step.name, step.rule) if step else (op.name, "")
        return {"operation": name, "type": op.type, "choice": choice, "rule": rule,
                **dict(zip(("arrives", "passed on", "lost"), sums))}

    rows = []
    for op, (arriving, given) in taps.at.items():
        sides = [[None if g is None else values[part(g)] for g in side] for side in (arriving, given)]
        sums = (total([values.get(t) for t in ts], side) for ts, side in zip((op.outputs, op.inputs), sides))
        rows.append(row(op, all(g is None for g in given), *sums))
        rows += [row(o, False, *found) for o, found in holds.get(op, {}).items()]
    counts = {c: sum(r["choice"] == c for r in rows) for c in ("chosen", "default", "nothing")}
    return Study("Rules: " + ", ".join(f"{n} {c}" for c, n in counts.items()), rows)


def bias(y, xs, feed_dict=None, session=None, scales=(0.01, 0.1, 1.0), directions=16, seed=0, **options):
    """Measures how far a surrogate gradient is from what y really does, on the user's data.

    For steps of several sizes in random directions v, the gradient promises a slope <g, v>, and the program delivers
    (y(x + s v) - y(x - s v)) / 2s, its slope averaged over the step. A true gradient has both alike for small steps; a
    straight-through one can only be right for steps as large as those that it bridges.

    Args:
      y: tensor; its sum is what counts.
      xs: tensors or variables; they are fed, placeholders or not.
      scales: sizes of the steps, in units of the root mean square of each x (of 1 where x is 0).
      directions: how many random directions; each costs two runs per scale.
      feed_dict, session, options: as of `diagnose`.

    Returns:
      A `Study`, a row per scale: `correlation` of promised and delivered slopes, `gain` (least squares: delivered = gain *
      promised), and `along`, delivered / promised in the direction of the gradient itself. 1 is unbiased.
    """
    from regrad.ops.reduce import reduce_sum

    scales = tuple(scales)
    if not all(isinstance(s, numbers.Real) and s > 0 for s in scales):
        raise ValueError(f"bias: scales are the sizes of steps, each above 0; got {scales!r}.")
    xs = [element(x, "x") for x in as_list(xs)]
    total = reduce_sum(y)
    grads = [whole(g) for g in gradients(total, xs, name="bias", **options)]
    if any(g is None for g in grads):
        raise ValueError(f"bias: {xs[grads.index(None)].name} gets no gradient; tf.why_none tells why.")
    rng = np.random.RandomState(seed)
    session, _ = session_for(total.graph, session)
    fed = dict(feed_dict or {})
    got, at = session.run([grads, xs], fed)
    sizes = [float(np.sqrt(np.mean(np.square(x)))) or 1.0 for x in at]
    norm = np.sqrt(sum(np.sum(np.square(g)) for g in got))
    own = [g / norm if norm else g for g in got]
    random = [[rng.standard_normal(x.shape) / np.sqrt(max(x.size, 1)) for x in at] for _ in range(directions)]

    def delivered(v, scale):
        ends = [session.run(total, {**fed, **{x: (a + sign * scale * s * d).astype(a.dtype)
                                             for x, a, s, d in zip(xs, at, sizes, v)}}) for sign in (1, -1)]
        return float(ends[0] - ends[1]) / (2 * scale)

    def promised(v):
        return float(sum(np.sum(g * s * d) for g, s, d in zip(got, sizes, v)))

    rows = []
    for scale in scales:
        said = np.array([promised(v) for v in random])
        real = np.array([delivered(v, scale) for v in random])
        both = np.linalg.norm(said) * np.linalg.norm(real)
        rows.append({"scale": float(scale), "correlation": float(said @ real / both) if both else None,
                     "gain": float(said @ real / (said @ said)) if said.any() else None,
                     "along": delivered(own, scale) / promised(own) if norm else None})
    return Study(f"Promised and delivered slopes of {total.op.inputs[0].name}", rows)


def forward_against_reverse(ys, xs, feed_dict=None, session=None, directions=4, seed=0, **options):
    """Holds forward mode against the backward pass: <u, J v> = <J'u, v> for random u and v, whatever rules are in force.

    They can differ where a forward rule was written beside a reverse one (`RegisterForwardGradient`, `custom_gradient`).

    Args:
      ys, xs, feed_dict, session, options: as of `diagnose`.
      directions: how many pairs (u, v).

    Returns:
      A `Study`, a row per pair: `forward`, `reverse`, and their relative `difference`.
    """
    ys, xs = [element(y, "y") for y in as_list(ys)], [element(x, "x") for x in as_list(xs)]
    values = fetch([*ys, *xs], feed_dict, session)
    rng = np.random.RandomState(seed)

    def random(t):
        return rng.standard_normal(np.shape(values[t])).astype(t.dtype.as_numpy_dtype)

    tried = []
    for _ in range(directions):
        us, vs = [random(y) for y in ys], [random(x) for x in xs]
        along = forward_gradients(ys, xs, vs, **options)
        back = [whole(g) for g in gradients(ys, xs, grad_ys=us, name="reverse", **options)]
        tried.append((us, vs, along, back))
    got = fetch([t for _, _, along, back in tried for t in (*along, *back) if t is not None], feed_dict, session)

    def product(fixed, tensors):
        return float(sum(np.sum(np.real(np.conj(a) * got[t])) for a, t in zip(fixed, tensors) if t is not None))

    rows = []
    for us, vs, along, back in tried:
        forward, reverse = product(us, along), product(vs, back)
        scale = max(abs(forward), abs(reverse))
        rows.append({"forward": forward, "reverse": reverse, "difference": abs(forward - reverse) / scale if scale else 0.0})
    return Study("Forward mode against the backward pass", rows)
