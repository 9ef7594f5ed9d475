"""Derivatives other than a gradient: Jacobians, Hessians, products with them, and forward mode.

All are made of `gradients()`, so overrides, views and blocks hold in them as anywhere.
"""

import re

from regrad.autodiff.gradients import as_list, gradients, together
from regrad.autodiff.overrides import View, as_view
from regrad.autodiff.partials import element
from regrad.autodiff.walking import for_forward_mode
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.opdef import spec_text
from regrad.core.shapes import compatible
from regrad.ops import array, math
from regrad.ops.indexing import one_hot
from regrad.ops.reduce import reduce_sum


def jacobian(y, xs, name="jacobian", unconnected_gradients="none", **options):
    """Returns dy/dx for each x: tensors of shape `y.shape + x.shape`.

    Args:
      y: tensor of any shape; its number of elements may be known at run time only.
      xs: tensor, variable or list of them.
      options: `overrides`, `view`, `order`, `accumulate`, `stop_gradients`, `known_gradients` and `through_gradients` of
        `gradients`.

    Returns:
      A list of tensors (None where no path leads from x to y), or one if `xs` is no list.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.jacobian(tf.square(x), x)))
      #> [[2. 0.]
      #>  [0. 4.]]
    """
    many = isinstance(xs, (list, tuple))
    y = convert_to_tensor(y)
    xs = as_list(xs)
    with get_default_graph().name_scope(name), together("jacobian", y, options) as options:
        flat = array.reshape(y, [-1])
        n = array.size(flat)
        probe = gradients(y, xs, [None], unconnected_gradients=unconnected_gradients, **options)
        probe = [None if g is None else convert_to_tensor(g) for g in probe]  # slices made dense
        used = [i for i, g in enumerate(probe) if g is not None]
        if not used:
            return [None] * len(xs) if many else None

        rows = _rows(flat, n, lambda i: one_hot(i, n, dtype=flat.dtype), [xs[k] for k in used], [probe[k] for k in used],
                     options)
        out = [None] * len(xs)
        for k, stacked in zip(used, rows):
            shape = array.concat([array.shape(y), array.shape(probe[k])], 0)
            out[k] = array.reshape(stacked, shape)
            if y.dims is not None and probe[k].dims is not None:
                out[k].set_shape(y.dims + probe[k].dims)
    return out if many else out[0]


def _rows(y, n, seed, xs, like, options):
    """Returns for each x the gradients of `y` by it for the seeds 0 to n - 1, stacked; `like` have the gradients' types."""
    from regrad.ops.flow import while_loop
    from regrad.ops.tensor_array import TensorArray

    def row(i, *arrays):
        grads = gradients(y, xs, grad_ys=[seed(i)], unconnected_gradients="zero", **options)
        return (i + 1, *(a.write(i, convert_to_tensor(g)) for a, g in zip(arrays, grads)))

    arrays = [TensorArray(g.dtype, size=n, element_shape=g.shape) for g in like]
    _, *arrays = while_loop(lambda i, *_: i < n, row, (0, *arrays), maximum_iterations=n)
    return [a.stack() for a in arrays]


def batch_jacobian(y, x, name="batch_jacobian", **options):
    """Returns dy[b]/dx[b] for each example b: a tensor of shape [batch] + y.shape[1:] + x.shape[1:].

    One gradient per element of y[0] gives them all: it is taken for granted that y[b] depends on no other example than x[b].

    Args:
      y, x: tensors whose first axis is the batch.
      options: as of `jacobian`.

    Returns:
      The tensor, or None where no path leads from x to y.

    Raises:
      ValueError: the numbers of examples differ.

    Example:
      x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
      print(tf.Session().run(tf.batch_jacobian(tf.square(x), x)).tolist())
      #> [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
    """
    y, x = convert_to_tensor(y), convert_to_tensor(x)
    for what, t in (("y", y), ("x", x)):
        if t.dims == ():
            raise ValueError(f"batch_jacobian: {what} is {spec_text(t)}; its first axis must be the batch.")
    if y.dims and x.dims and None not in (y.dims[0], x.dims[0]) and y.dims[0] != x.dims[0]:
        raise ValueError(f"batch_jacobian: the first axis of y {y.shape} and of x {x.shape} must be the same batch.")
    with get_default_graph().name_scope(name), together("batch_jacobian", y, options) as options:
        batch = array.shape(y)[0]
        flat = array.reshape(y, array.stack([batch, -1]))
        n = array.shape(flat)[1]
        probe = gradients(y, x, [None], **options)[0]
        if probe is None:
            return None
        rows, = _rows(flat, n, lambda i: array.broadcast_to(one_hot(i, n, dtype=y.dtype), array.shape(flat)), [x],
                      [convert_to_tensor(probe)], options)
        rows = array.reshape(rows, array.stack([n, batch, -1]))
        shape = array.concat([array.shape(y), array.shape(x)[1:]], 0)
        out = array.reshape(array.transpose(rows, [1, 0, 2]), shape)
        if y.dims is not None and x.dims is not None:
            out.set_shape(y.dims + x.dims[1:])
        return out


def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None,
             **options):
    """Returns the second derivatives of the sum of `ys` by each x: tensors of shape `x.shape + x.shape`.

    Args:
      ys: tensor or list; their sum is differentiated twice.
      xs: tensor, variable or list of them.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: accepted, see `gradients`.
      options: as of `hessian_vector_product`.

    Raises:
      ValueError: `ys` are linear in an x, so that its gradient does not depend on it.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.hessians(x[0] * x[0] * x[1], x)[0]))
      #> [[4. 2.]
      #>  [2. 0.]]
    """
    xs = as_list(xs)
    if "through_gradients" in options:
        raise TypeError("hessians takes no through_gradients: it differentiates a gradient. Give what is to be constant to "
                        "stop_gradients.")
    first = {key: options.pop(key) for key in ("grad_ys", "known_gradients") if key in options}
    with get_default_graph().name_scope(name), together("hessians", ys, options) as options:
        grads = gradients(ys, xs, **first, **options)
        return [None if g is None else _second(g, x, options) for g, x in zip(grads, xs)]


def _second(first, x, options):
    found = jacobian(first, x, **options)
    if found is None:
        raise ValueError(f"hessians: the gradient by {x!r} does not depend on it, so the second derivative is zero everywhere; "
                         "tf.jacobian(gradient, x, unconnected_gradients='zero') gives those zeros.")
    return found


def hessian_vector_product(ys, xs, vs, grad_ys=None, name="hessian_vector_product", stop_gradients=None,
                           unconnected_gradients="none", overrides=None, view=None, order=None, known_gradients=None,
                           accumulate=None):
    """Returns H v for each x, with H the Hessian of the sum of `ys` and `vs` one tensor like each x.

    One gradient of <gradient, v> (Pearlmutter 1994): the cost of two gradients, whatever the size of x. The `vs` count as
    constants.

        y = tf.reduce_sum(x ** 3.0)
        tf.hessian_vector_product(y, x, [v])                # [6 x v]

    Args:
      ys, xs: as of `gradients`.
      vs: one tensor like each x.
      grad_ys, known_gradients: as of `gradients`, for the first of the two differentiations.
      stop_gradients, accumulate: as of `gradients`, for both.
      overrides, view: rules for both differentiations.
      order: 1 where `overrides` hold in the first differentiation only (the derivative of the overridden gradient), 2 in the
        second only; both by default.
      unconnected_gradients: "none" or "zero": what an x gets on which the product does not depend.

    Returns:
      A list with a tensor of the shape and dtype of each x, None where no path leads to it.

    Raises:
      ValueError: another number of `vs`, or one that has not the shape and dtype of its x.
      OverrideError: (a ValueError) an override caught nothing in either differentiation.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.hessian_vector_product(x[0] * x[0] * x[1], x, [[1.0, 0.0]])[0]))
      #> [4. 2.]
    """
    xs = as_list(xs)
    vs = _directions(xs, vs)
    options = {"overrides": overrides, "view": view, "order": order, "accumulate": accumulate,
               "stop_gradients": stop_gradients}
    with get_default_graph().name_scope(name), together("hessian_vector_product", ys, options) as options:
        grads = gradients(ys, xs, grad_ys, known_gradients=known_gradients, **options)
        products = [reduce_sum(math.multiply(g, array.stop_gradient(v))) for g, v in zip(grads, vs) if g is not None]
        if not products:
            return [array.zeros_like(v) if unconnected_gradients == "zero" else None for v in vs]
        return gradients(products, xs, [None] * len(products), unconnected_gradients=unconnected_gradients, **options)


def _directions(xs, vs):
    """Returns `vs` as tensors, each of the dtype and shape of its x."""
    vs = as_list(vs)
    if len(xs) != len(vs):
        raise ValueError(f"xs and vs must have the same length: {len(xs)} and {len(vs)}.")
    out = []
    for i, (x, v) in enumerate(zip(xs, vs)):
        x = element(x, "x")
        v = convert_to_tensor(v, dtype=None if hasattr(v, "dtype") else x.dtype)
        if v.dtype is not x.dtype or not compatible(v.dims, x.dims):
            raise ValueError(f"vs[{i}] is {spec_text(v)}, but xs[{i}] ({x.name}) is {spec_text(x)}: a v is a step of its x.")
        out.append(v)
    return out


def forward_gradients(ys, xs, vs, name="forward_gradients", **options):
    """Returns J v for each y: the derivative of `ys` when each x moves along its v (forward mode, "jvp").

    The transpose of the backward pass: the gradient is linear in what arrives at ys, and its derivative by that is J.
    So it uses the very rules, overrides included, that `gradients` would use; where an operation's rule has a forward rule
    beside it (`RegisterForwardGradient`), that one. A rule that is not linear in the arriving gradient (a clipped one) has
    its derivative at one taken.

    Args:
      ys: tensor or list.
      xs, vs: tensors or lists of one length: v has the shape and dtype of its x.

    Returns:
      A list with a tensor like each y, None where no path leads to it.

    Raises:
      ValueError: another number of `vs`, or one that has not the shape and dtype of its x.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.forward_gradients(tf.square(x), x, tf.constant([1.0, 0.5]))[0]))
      #> [2. 2.]
    """
    ys, xs = as_list(ys), as_list(xs)
    with get_default_graph().name_scope(name):
        ys, vs = [convert_to_tensor(y) for y in ys], _directions(xs, vs)
        out = []
        for y in ys:
            # Ones, not zeros: rules made with x / y where 0 / 0 counts as 0 are flat at zero, and linear elsewhere.
            u = array.identity(array.ones_like(y), name="cotangent")
            with for_forward_mode():
                grads = gradients(y, xs, grad_ys=[u], **options)
            pairs = [(convert_to_tensor(g), v) for g, v in zip(grads, vs) if g is not None]
            out.append(gradients([g for g, _ in pairs], u, grad_ys=[v for _, v in pairs])[0] if pairs else None)
    return out


jvp = forward_gradients


def view_gradients(ys, xs, views, **options):
    """Returns {view name: gradients}: several backward passes over one forward pass, in one graph.

    Run together they compute the forward pass once.

    Args:
      views: list of `View`s, None among them for the gradient without any ("true"); or {name: overrides or None}.
      options: further arguments of `gradients`, for all of them; `grad_ys` stand before those of a view.

    Returns:
      {name: what `gradients` returns, a list as long as `xs`}.

    Raises:
      TypeError: something in `views` is no View.
      ValueError: two views have one name.

    Example:
      x = tf.constant([-1.0, 2.0])
      doubled = tf.View("doubled", {"Relu": lambda op, dy: 2.0 * dy})
      passes = tf.Session().run(tf.view_gradients(tf.nn.relu(x), x, [None, doubled]))
      print(*passes["true"], *passes["doubled"])
      #> [0. 1.] [2. 2.]
    """
    views = ([View(name, overrides) for name, overrides in views.items()] if isinstance(views, dict) else
             [as_view(None, "true") if v is None else v for v in as_list(views)])
    if not all(isinstance(v, View) for v in views):
        raise TypeError("view_gradients: views are a list of tf.View(name, overrides), or a dict {name: overrides}; got "
                        f"{views!r}.")
    names = [v.name for v in views]
    if len(set(names)) != len(names):
        raise ValueError(f"view_gradients: two views have one name: {names}.")
    return {v.name: gradients(ys, xs, view=v, name="gradients_" + re.sub(r"[^\w.-]", "_", v.name, flags=re.ASCII), **options)
            for v in views}
