"""Derivatives other than a gradient: Jacobians, Hessians, products with them, and forward mode.

All are made of `gradients()`, so overrides, views and blocks hold in them as anywhere.
"""

import re

from regrad.autodiff.gradients import _as_list, gradients
from regrad.autodiff.overrides import View
from regrad.autodiff.walking import for_forward_mode
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, math
from regrad.ops.reduce import reduce_sum


def jacobian(y, xs, name="jacobian", unconnected_gradients="none", **options):
    """Returns dy/dx for each x: tensors of shape `y.shape + x.shape`.

    Args:
      y: tensor of any shape; its number of elements may be known at run time only.
      xs: tensor, variable or list of them.
      options: further arguments of `gradients` (`overrides`, `stop_gradients` ...).

    Returns:
      A list of tensors (None where no path leads from x to y), or one if `xs` is no list.
    """
    from regrad.ops.flow import while_loop
    from regrad.ops.indexing import one_hot
    from regrad.ops.tensor_array import TensorArray

    many = isinstance(xs, (list, tuple))
    y = convert_to_tensor(y)
    xs = _as_list(xs)
    with get_default_graph().name_scope(name):
        flat = array.reshape(y, [-1])
        n = array.size(flat)
        probe = gradients(y, xs, unconnected_gradients=unconnected_gradients, **options)
        probe = [None if g is None else convert_to_tensor(g) for g in probe]  # slices made dense
        used = [i for i, g in enumerate(probe) if g is not None]
        if not used:
            return [None] * len(xs) if many else None

        def row(i, *arrays):
            unit = one_hot(i, n, dtype=flat.dtype)
            grads = gradients(flat, [xs[k] for k in used], grad_ys=[unit], unconnected_gradients="zero", **options)
            return (i + 1, *(a.write(i, convert_to_tensor(g)) for a, g in zip(arrays, grads)))

        arrays = [TensorArray(probe[k].dtype, size=n, element_shape=probe[k].shape) for k in used]
        _, *arrays = while_loop(lambda i, *_: i < n, row, (0, *arrays), maximum_iterations=n)
        out = [None] * len(xs)
        for k, a in zip(used, arrays):
            shape = array.concat([array.shape(y), array.shape(probe[k])], 0)
            out[k] = array.reshape(a.stack(), shape)
            if y.dims is not None and probe[k].dims is not None:
                out[k].set_shape(y.dims + probe[k].dims)
    return out if many else out[0]


def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None,
             **options):
    """Returns the second derivatives of the sum of `ys` by each x: tensors of shape `x.shape + x.shape`.

    Args:
      ys: tensor or list; their sum is differentiated twice.
      xs: tensor, variable or list of them.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: accepted, see `gradients`.
    """
    xs = _as_list(xs)
    with get_default_graph().name_scope(name):
        grads = gradients(ys, xs, **options)
        return [None if g is None else jacobian(g, x, unconnected_gradients="zero", **options) for g, x in zip(grads, xs)]


def hessian_vector_product(ys, xs, vs, **options):
    """Returns H v for each x, with H the Hessian of the sum of `ys` and `vs` one tensor like each x.

    One gradient of <gradient, v> (Pearlmutter 1994): the cost of two gradients, whatever the size of x.
    """
    xs, vs = _as_list(xs), _as_list(vs)
    if len(xs) != len(vs):
        raise ValueError(f"xs and vs must have the same length: {len(xs)} and {len(vs)}.")
    grads = gradients(ys, xs, **options)
    products = [reduce_sum(math.multiply(g, array.stop_gradient(convert_to_tensor(v, dtype=g.dtype))))
                for g, v in zip(grads, vs) if g is not None]
    if not products:
        return [None] * len(xs)
    return gradients(products, xs, **options)


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
    """
    ys, xs, vs = _as_list(ys), _as_list(xs), _as_list(vs)
    if len(xs) != len(vs):
        raise ValueError(f"xs and vs must have the same length: {len(xs)} and {len(vs)}.")
    with get_default_graph().name_scope(name):
        ys = [convert_to_tensor(y) for y in ys]
        out = []
        for y in ys:
            # Ones, not zeros: rules made with x / y where 0 / 0 counts as 0 are flat at zero, and linear elsewhere.
            u = array.identity(array.ones_like(y), name="cotangent")
            with for_forward_mode():
                grads = gradients(y, xs, grad_ys=[u], **options)
            pairs = [(convert_to_tensor(g), convert_to_tensor(v, dtype=g.dtype)) for g, v in zip(grads, vs) if g is not None]
            out.append(gradients([g for g, _ in pairs], u, grad_ys=[v for _, v in pairs])[0] if pairs else None)
    return out


jvp = forward_gradients


def view_gradients(ys, xs, views, **options):
    """Returns {view name: gradients}: several backward passes over one forward pass, in one graph.

    Run together they compute the forward pass once.

    Args:
      views: list of `View`s, or {name: overrides}, None for the gradient without any.
      options: further arguments of `gradients`.
    """
    views = [View(name, overrides) for name, overrides in views.items()] if isinstance(views, dict) else views
    names = [v.name for v in views]
    if len(set(names)) != len(names):
        raise ValueError(f"view_gradients: two views have one name: {names}.")
    return {v.name: gradients(ys, xs, view=v, name="gradients_" + re.sub(r"[^\w.-]", "_", v.name, flags=re.ASCII), **options)
            for v in views}
