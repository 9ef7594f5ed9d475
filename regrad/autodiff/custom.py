"""Functions with a gradient of their own: custom_gradient, grad_pass_through, recompute_grad."""

import contextlib
import functools
import inspect

from regrad.autodiff import forward as forward_mode
from regrad.autodiff.overrides import Override
from regrad.autodiff.partials import Partials
from regrad.autodiff.walking import ancestors, inner_gradients
from regrad.core import nest, source
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import RuleError
from regrad.core.frames import framed
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import Tensor, variable_of
from regrad.core.traversal import body_graphs, operations_within
from regrad.ops.array import identityn_op, unasked_identity
from regrad.ops.barrier import after


def custom_gradient(f=None):
    """Decorator for a function that brings its gradient.

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            def grad(dy):
                return dy * (1 - 1 / (1 + e))
            return tf.log(1 + e), grad

    Args:
      f: `f(*args, **kwargs)` -> (result, grad_fn) or (result, grad_fn, forward_fn). `args` are tensors or nested
        structures of them; keyword arguments are passed on, tensors among them differentiated too. `result` is a tensor or
        a structure of tensors.

    `f` may return a third thing, `forward_fn(*tangents)`: from one tangent per tensor argument, those of the result's tensors.
    `tf.forward_gradients` uses it (without one it transposes `grad_fn`), and `tf.audit` holds the two against each other.

    `grad_fn(*dys)` gets one gradient per tensor of the result, and returns one per tensor argument: a tensor, or a
    structure like the arguments. If `f` uses variables, `grad_fn(*dys, variables=[...])` must take them and return
    (gradients of the arguments, [gradients of the variables]).

    Returns:
      A function like `f` that returns only the result. It nests, and has derivatives of every order: `grad_fn` builds
      ordinary graph.

    Raises:
      TypeError: `f` does not return (result, grad_fn), or uses variables that `grad_fn` does not take.
      RuleError: (when gradients are built) the wrong number of gradients came back.

    Example:
      @tf.custom_gradient
      def clipped(x):
          return x, lambda dy: tf.clip_by_value(dy, -1.0, 1.0)

      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.gradients(clipped(x) * [0.5, 7.0], x)[0]))
      #> [0.5 1. ]
    """
    if f is None:
        return custom_gradient
    _check_function(f, "custom_gradient")

    return _WithGradient(f)


class _WithGradient:
    """What `custom_gradient` makes of a function; of one in a class, a method: `self` is nothing to differentiate."""

    def __init__(self, f):
        functools.update_wrapper(self, f)
        self._function = f

    def __call__(self, *args, **kwargs):
        return _call(self, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else _WithGradient(self._function.__get__(instance, owner))


def _on_identities(graph, f, args, kwargs):
    """Calls `f` on fresh identities of its tensors, so that only this call's uses of them count as its inputs.

    Returns:
      (what `f` returned; the identities; how many operations the graph had before `f`; how many identities stand for
      positional arguments; a function of as many tensors that gives the arguments made of them).
    """
    leaves, rebuild, n_args = _tensor_leaves(args, kwargs)
    inputs = [unasked_identity(t) for t in leaves]
    made_before = len(graph._ops)
    new_args, new_kwargs = rebuild(inputs)
    return f(*new_args, **new_kwargs), inputs, made_before, n_args, rebuild


def _check_function(f, what):
    if not callable(f):
        raise TypeError(f"{what} decorates a function of tensors, got {f!r}.")


def _check_result(result, f, what):
    if any(r is None for r in nest.flatten(result)):
        raise ValueError(f"{what}: {_place(f)} returned {result!r}; None values not supported, it must return tensors.")


def _call(decorated, args, kwargs):
    f, graph = decorated._function, get_default_graph()
    returned, inputs, made_before, n_args, _ = _on_identities(graph, f, args, kwargs)
    if not isinstance(returned, tuple) or len(returned) not in (2, 3) or not all(map(callable, returned[1:])):
        raise TypeError(f"custom_gradient: {_place(f)} must return (result, grad_fn) or (result, grad_fn, forward_fn), got "
                        f"{returned!r}.")
    result, grad_fn, *forward_fn = returned
    results = [convert_to_tensor(r) for r in nest.flatten(result)]
    variables = list(_variables_used(graph, made_before, inputs))
    takes_variables = _takes(grad_fn, "variables")
    if variables and not takes_variables:
        raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
                        f"'variables' keyword argument: {_place(f)} uses {[v.name for v in variables]}.")
    reads = [convert_to_tensor(v) for v in variables]
    n_results, n_leaves = len(results), len(inputs)

    def rule(op, *dys):
        given = dys[:n_results]
        known = {"variables": variables} if variables else {}
        returned = source.call(grad_fn, *given, role=f"grad_fn of {_place(f)}", **known)
        variable_grads = []
        if variables:
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(f"custom_gradient: grad_fn of {_place(f)} must return (gradients, variable gradients), since "
                                f"variables are used; it returned {returned!r}.")
            returned, variable_grads = returned
            variable_grads = nest.flatten(variable_grads)
        grads = nest.flatten(returned) if n_leaves or returned is not None else []
        if len(grads) == n_args and n_leaves > n_args:
            grads = grads + [None] * (n_leaves - n_args)  # nothing is said of keyword arguments: nothing flows there
        for wanted, got, of in ((n_leaves, grads, "arguments"), (len(variables), variable_grads, "variables")):
            if len(got) != wanted and not _is_none(got):  # one None says that nothing flows anywhere
                raise RuleError(f"custom_gradient function expected to return {wanted} gradients, but returned {len(got)} "
                                f"instead: grad_fn of {_place(f)} returns one gradient, or None, for each of its {of}.")
        if _is_none(grads):
            grads = [None] * n_leaves
        if _is_none(variable_grads):
            variable_grads = [None] * len(variables)
        return [None] * n_results + grads + variable_grads

    if forward_fn:
        rule.forward = forward_mode.Closed(forward_fn[0], n_results, n_leaves)
    rule.__name__ = getattr(grad_fn, "__name__", "grad_fn")
    rule.__wrapped__, rule.belongs_to = grad_fn, decorated
    rule.passes_by = range(n_results)  # what `f` computed: the rule stands for the way through it
    rule.reads = range(n_results + n_leaves, n_results + n_leaves + len(reads))
    outputs = identityn_op([*results, *inputs, *reads])
    outputs[0].op.attached_rules = [rule]
    return nest.pack_sequence_as(result, outputs[:n_results])


def build_apart(f, args, kwargs):
    """Calls `f` on identities of its tensors, so that what it builds has an edge of its own.

    Returns:
      (what `f` returned, with tensors that are identities again; its input tensors; its output tensors inside; the storage of
      the variables it uses; the set of operations that it built).
    """
    graph = get_default_graph()
    result, inputs, made_before, *_ = _on_identities(graph, f, args, kwargs)
    _check_result(result, f, "grouped")
    results = [unasked_identity(convert_to_tensor(r)) for r in nest.flatten(result)]
    # What is read of a variable may be used outside, too: the group begins behind it.
    ops = {op for op in graph._ops[made_before:]
           if not op.opdef.variable and op.type != "FuncInput" and not (op.type == "Identity" and variable_of(op.inputs[0]))}
    variables = [t for entries in _variables_used(graph, made_before, inputs).values() for t in entries]
    return nest.pack_sequence_as(result, results), inputs, results, variables, ops


def _is_none(grads):
    return len(grads) == 1 and grads[0] is None


def _place(f):
    return f"'{getattr(f, '__name__', f)}' at {source.of_function(f)}"


def _is_tensor_like(x):
    return isinstance(x, (Tensor, IndexedSlices)) or hasattr(x, "_as_graph_element")


def _tensor_leaves(args, kwargs):
    """Returns (tensors among the arguments, rebuild, how many are positional); other leaves stay as they are."""
    flat_args = nest.flatten(list(args))
    flat_kwargs = nest.flatten(kwargs)
    # Positional numbers and arrays are arguments to differentiate, as in TF; keywords only if they are tensors.
    positions = [i for i, x in enumerate(flat_args) if not callable(x) and not isinstance(x, (str, bytes, type(None), bool))]
    keywords = [i for i, x in enumerate(flat_kwargs) if _is_tensor_like(x)]
    leaves = [convert_to_tensor(flat_args[i]) for i in positions] + [convert_to_tensor(flat_kwargs[i]) for i in keywords]

    def rebuild(tensors):
        a, k = list(flat_args), list(flat_kwargs)
        for i, t in zip(positions, tensors):
            a[i] = t
        for i, t in zip(keywords, tensors[len(positions):]):
            k[i] = t
        return nest.pack_sequence_as(list(args), a), nest.pack_sequence_as(kwargs, k) if kwargs else {}

    return leaves, rebuild, len(positions)


def _variables_used(graph, made_before, inputs):
    """Returns {trainable variable: [tensor]}: those that operations made since `made_before` read, and by which tensors."""
    root = graph.root
    by_storage = {v._gradient_handle().op: v for v in root.get_collection(GraphKeys.TRAINABLE_VARIABLES)
                  if hasattr(v, "_gradient_handle")}
    reads_outside = {t.op for t in inputs}
    # In a branch or loop, what was read outside is an input of the body.
    reads = {} if graph is root else {inner: graph.reads[t] for t, inner in graph.captures.items() if t in graph.reads}
    found = {}
    for op in graph._ops[made_before:]:
        for t in op.inputs:
            storage = variable_of(reads[t] if t in reads else t.op.inputs[0] if t.op.type == "Identity" else t)
            if storage in by_storage and t.op not in reads_outside:
                entries = found.setdefault(by_storage[storage], {})
                if variable_of(t) is None or op.type != "Identity" and not op.opdef.writes:
                    entries[t] = True
    return found


def get_dependent_variables(input_ops, output_ops):
    """Returns the trainable variables on which `output_ops` depend, differentiably, other than through `input_ops`.

    Args:
      input_ops, output_ops: structures of tensors.
    """
    from regrad.autodiff.resolution import get_gradient_function

    def differentiable(op):
        try:
            return get_gradient_function(op) is not None
        except LookupError:
            return False

    outputs = [convert_to_tensor(t) for t in nest.flatten(output_ops)]
    if not outputs:
        return []
    graph = outputs[0].graph
    by_storage = {v._gradient_handle().op: v for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    inputs = {convert_to_tensor(t) for t in nest.flatten(input_ops)}
    found, seen, stack = [], set(), outputs
    while stack:
        t = stack.pop()
        if t in seen or t in inputs or t.dtype._kind not in "fc":
            continue
        seen.add(t)
        storage = variable_of(t)
        if storage in by_storage:
            found.append(by_storage[storage])
        elif differentiable(t.op):
            stack.extend(t.op.inputs)
    return found


def _takes(function, name):
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def grad_pass_through(f):
    """Returns `f` with the gradient of the identity: what arrives at the result goes to the (one) tensor argument.

    Example:
      x = tf.constant([0.4, 1.6])
      print(tf.Session().run(tf.gradients(tf.grad_pass_through(tf.floor)(x), x)[0]))
      #> [1. 1.]
    """

    @custom_gradient
    def passed(*args, **kwargs):
        result = f(*args, **kwargs)
        n = sum(_is_tensor_like(x) for x in nest.flatten(list(args)))

        def grad(*dys, variables=None):
            grads = list(dys)[:n] + [None] * (n - len(dys))
            return (grads, [None] * len(variables)) if variables else grads

        return result, grad

    return functools.wraps(f)(passed)


def recompute_grad(f):
    """Returns `f` whose inner tensors are computed again for the backward pass instead of being kept: less memory, more time.

    `f` is called again when gradients are built. It gets the variables of its first call, random operations draw what they
    drew, and what it adds to collections then is taken out again.

    Chen et al. 2016, "Training deep nets with sublinear memory cost", arXiv 1604.06174.

    Args:
      f: function of tensors, or structures of them, that returns tensors. It makes variables by `tf.get_variable`, as layers.

    Raises:
      ValueError: `f` returned None; (when gradients are built) it made variables of its own again, or other operations than
        the first time while it draws random numbers or has rules attached, or it draws them in a loop or branch around it.

    Example:
      block = tf.recompute_grad(lambda x: tf.square(tf.square(x)))
      x = tf.constant(2.0)
      print(tf.Session().run(tf.gradients(block(x), x)[0]))
      #> 32.0
    """
    from regrad.variables.scope import Visit

    _check_function(f, "recompute_grad")

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        graph, visit = get_default_graph(), Visit()
        result, inputs, made_before, _, rebuild = _on_identities(graph, f, args, kwargs)
        _check_result(result, f, "recompute_grad")
        results = [convert_to_tensor(r) for r in nest.flatten(result)]
        first = _FirstCall(f, graph, graph._ops[made_before:], results)
        variables = list(_variables_used(graph, made_before, inputs))
        reads = [convert_to_tensor(v) for v in variables]

        def rule(op, *dys):
            # The barrier keeps the compiler from sharing the second computation with the first.
            again = after(list(op.inputs[len(results):len(results) + len(inputs)]), list(dys[:len(results)]))
            b, m = rebuild(again)
            made_before = len(get_default_graph()._ops)
            with first.called_again(), visit.again():
                recomputed = [convert_to_tensor(r) for r in nest.flatten(f(*b, **m))]
            first.resembled_by(recomputed, get_default_graph()._ops[made_before:])
            arrived = [(r, dy) for r, dy in zip(recomputed, dys) if dy is not None]
            xs = [(v, t) for v in variables for t in _sources(get_default_graph(), v)]
            grads = inner_gradients([r for r, _ in arrived], [*again, *(t for _, t in xs)], [dy for _, dy in arrived],
                                    stops=again)  # the arguments may be made of the same variables
            sums = Partials()
            for (v, _), g in zip(xs, grads[len(again):]):
                if g is not None:
                    sums.add(v._gradient_handle(), g)
            return [*[None] * len(results), *grads[:len(again)], *(sums.total(v._gradient_handle()) for v in variables)]

        rule.__wrapped__ = f
        rule.__name__ = getattr(f, "__name__", "recompute_grad")
        rule.passes_by = range(len(results))
        rule.reads = range(len(results) + len(inputs), len(results) + len(inputs) + len(reads))
        outputs = identityn_op([*results, *inputs, *reads], name="recompute")
        outputs[0].op.attached_rules = [rule]
        return nest.pack_sequence_as(result, outputs[:len(results)])

    return decorated


class _FirstCall:
    """What a function that is computed again made when it was called first, and the rules that it was made under."""

    def __init__(self, f, graph, made, results):
        self.f, self.graph, self.scope = f, graph, graph.frame.override_scope
        self.ops = _computing(results, made)

    @contextlib.contextmanager
    def called_again(self):
        """Context manager for the second call: blocks of gradient_override_map hold, and collections keep what they hold."""
        graph = get_default_graph()
        graphs = list(graph.outwards())
        collections = [g._collections for g in graphs]
        lengths = [{name: len(items) for name, items in held.items()} for held in collections]
        made_before = len(graphs[-1]._ops)
        try:
            with framed(graph, override_scope=self.scope):
                yield
            variable = next((op for op in graphs[-1]._ops[made_before:] if op.opdef.variable), None)
            if variable is not None:
                raise ValueError(f"recompute_grad: {_place(self.f)} makes the variable {variable.name} anew each time it is "
                                 "called, and it is called again for the gradient. Make it outside, or by tf.get_variable.")
        finally:
            for held, before in zip(collections, lengths):
                for name, items in held.items():
                    del items[before.get(name, 0):]

    def resembled_by(self, results, made):
        """Gives what was `made` again, for `results`, the rules attached to what was made first, and its random numbers."""
        now = _computing(results, made)
        alike = [op.type for op in self.ops] == [op.type for op in now]
        for i, old in enumerate(self.ops):
            attached = [rule for rule in old.attached_rules or () if isinstance(rule, Override)]
            if not (attached or old.opdef.random):
                continue
            what = f"recompute_grad: {old.describe()}, of {_place(self.f)}, "
            if not alike:
                raise ValueError(f"{what}has no counterpart: the function makes other operations when it is called again.")
            if attached:
                now[i].attached_rules = [*(now[i].attached_rules or ()), *attached]
            if old.opdef.random:
                if get_default_graph() is not self.graph:
                    raise ValueError(f"{what}cannot draw again what it drew in the loop or branch around it. Draw outside of "
                                     "the function, and give it the numbers.")
                now[i].draws_as = old.draws_as or old


def _computing(results, made):
    """Returns those of the operations `made` that compute `results`, with what their bodies hold; without new variables."""
    made = set(made)
    ops = sorted((op for op in ancestors(results) if op in made and not op.opdef.variable), key=lambda op: op.id)
    return _with_bodies([op for op in ops if not any(variable_of(t) is not None and t.op in made for t in op.inputs)])


def _with_bodies(ops):
    return [op for outer in ops for op in (outer, *(i for body in body_graphs(outer) for i in operations_within(body)))]


def _sources(graph, variable):
    """Returns the tensors of `graph` that the uses of a variable in it start from."""
    storage = variable._gradient_handle()
    if graph is storage.graph:
        return [storage]
    return [inner for outer, inner in graph.captures.items() if graph.reads.get(outer, outer) is storage]
