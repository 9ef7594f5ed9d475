"""Gradients of several losses, combined by a rule that sees all of them by all variables at once."""

from regrad.autodiff.gradients import as_list, gradients, together
from regrad.autodiff.partials import element
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import RuleError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import spec_text
from regrad.core.shapes import compatible
from regrad.core.source import call, of_function
from regrad.ops import array, compare, math
from regrad.ops.diag import diag_part
from regrad.ops.indexing import gather, one_hot
from regrad.ops.random import random_uniform
from regrad.ops.reduce import reduce_sum
from regrad.ops.sort import argsort


def combine_gradients(losses, variables, rule, name="combine_gradients", **options):
    """Returns one gradient per variable, made by `rule` of the gradients of each loss by all of them.

    What `accumulate=` of `tf.gradients` does where paths meet at one tensor, this does for whole losses and several tensors.

        def largest(grads):                                     # of the loss that has the longest gradient
            norms = [tf.global_norm(of_loss) for of_loss in grads]
            best = tf.argmax(tf.stack(norms))
            return [tf.gather(tf.stack(of_variable), best) for of_variable in zip(*grads)]

        grads = tf.combine_gradients([loss_a, loss_b], variables, largest)
        train = optimizer.apply_gradients(zip(grads, variables))

    Args:
      losses: list of tensors; of one that is no scalar the sum counts.
      variables: list of variables or tensors, as `xs` of `gradients`.
      rule: `rule(grads)`, a function that returns a list with one tensor, of its dtype and shape, for each variable;
        `grads[i][j]` is the gradient of loss i by variable j: a dense tensor, zeros where there is no path.
      name: name scope of the operations added.
      options: `overrides`, `view`, `order`, `accumulate`, `stop_gradients`, `known_gradients` and `through_gradients` of
        `gradients`, for each loss; an override must act for one of them.

    Returns:
      A list as long as `variables`: tensors, or None for a variable that no loss depends on, which the rule does not see.

    Raises:
      ValueError: there are no losses.
      RuleError: (a ValueError) the rule gave another number of gradients, or one of another dtype or shape.

    Example:
      x = tf.constant([1.0, 2.0])
      losses = [tf.reduce_sum(3.0 * x), tf.reduce_sum(x * x)]
      smallest = tf.combine_gradients(losses, [x], lambda grads: [tf.minimum(*of_x) for of_x in zip(*grads)])
      print(tf.Session().run(smallest[0]))
      #> [2. 3.]
    """
    losses, xs = as_list(losses), as_list(variables)
    if not losses:
        raise ValueError("combine_gradients: there are no losses to combine the gradients of.")
    if not callable(rule):
        raise TypeError(f"combine_gradients: rule is a function of a list of lists of gradients, got {rule!r}.")
    with get_default_graph().name_scope(name), together("combine_gradients", losses, options) as options:
        found = [gradients(loss, xs, **options) for loss in losses]
        reached = [j for j in range(len(xs)) if any(grads[j] is not None for grads in found)]
        like = {j: next(convert_to_tensor(grads[j]) for grads in found if grads[j] is not None) for j in reached}
        dense = [[array.zeros_like(like[j]) if grads[j] is None else convert_to_tensor(grads[j]) for j in reached]
                 for grads in found]
        combined = as_list(call(rule, dense, role="rule(grads) of combine_gradients")) if reached else []
        if len(combined) != len(reached):
            raise RuleError(f"combine_gradients: the rule at {of_function(rule)} gave {len(combined)} gradients for the "
                            f"{len(reached)} variables that gradients reach.")
        out = [None] * len(xs)
        for j, g in zip(reached, combined):
            x = element(xs[j], "x")
            out[j] = g = convert_to_tensor(g, dtype=None if hasattr(g, "dtype") else x.dtype)
            if g.dtype is not x.dtype or not compatible(g.dims, x.dims):
                raise RuleError(f"combine_gradients: the rule at {of_function(rule)} gave {spec_text(g)} for {x.name}, which "
                                f"is {spec_text(x)}; a gradient has the shape and dtype of its variable.")
    return out


def pcgrad(losses, variables, seed=0, name="pcgrad", **options):
    """Returns the gradient of the sum of losses after each was projected off those it conflicts with, by each variable.

    Yu et al. 2020, "Gradient surgery for multi-task learning" (PCGrad), arXiv 2001.06782, algorithm 1: the gradient g_i of loss
    i, by all variables as one vector, loses for each other loss j, in an order drawn anew for each i and each run, what points
    against g_j: where g_i . g_j < 0, g_i -= (g_i . g_j) / |g_j|^2 g_j. The results are added up. It costs one gradient a loss,
    and the scalar products of the gradients with each other.

        train = optimizer.apply_gradients(zip(tf.pcgrad([loss_a, loss_b], variables), variables))

    Args:
      losses, variables, name, options: as of `combine_gradients`.
      seed: of the orders; the same ones are drawn in each session.

    Returns:
      A list as long as `variables`: tensors, None for a variable that no loss depends on.

    Raises:
      ValueError: there are no losses.
      TypeError: a variable is complex.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.pcgrad([x[0], x[1] - x[0]], [x])[0]))
      #> [0.5 1.5]
    """
    return combine_gradients(losses, variables, lambda grads: _projected(grads, seed), name, **options)


def _projected(grads, seed):
    """Returns the sum of the projected gradients; what each becomes is a combination of the gradients as they were."""
    n = len(grads)
    for g in grads[0]:
        if g.dtype.is_complex:
            raise TypeError(f"pcgrad: {g.name} is {g.dtype.name}; conflicts are told of real gradients.")
    dtype = dtypes.float64 if any(g.dtype is dtypes.float64 for g in grads[0]) else dtypes.float32
    flat = [array.concat([math.cast(array.reshape(g, [-1]), dtype) for g in of_loss], 0) for of_loss in grads]
    # scalar products of all pairs, without a matrix of all gradients
    products = array.stack([array.stack([reduce_sum(a * b) for b in flat]) for a in flat])
    sizes = diag_part(products)
    orders = argsort(random_uniform([n, n], seed=seed), axis=1)
    weights = one_hot(list(range(n)), n, dtype=dtype)  # row i: how much of each gradient is in projected gradient i
    for turn in range(n):
        other = orders[:, turn]  # for each i the j it looks at
        along = reduce_sum(weights * gather(products, other), axis=1)
        size = gather(sizes, other)
        against = math.minimum(along, array.zeros_like(along)) / math.maximum(size, array.ones_like(size) * 1e-30)
        own = math.cast(compare.equal(other, list(range(n))), dtype)
        weights = weights - one_hot(other, n, dtype=dtype) * array.expand_dims(against * (1.0 - own), 1)
    shares = array.unstack(reduce_sum(weights, axis=0), n)
    return [math.add_n([g * math.cast(share, g.dtype) for g, share in zip(of_variable, shares)])
            for of_variable in zip(*grads)]
