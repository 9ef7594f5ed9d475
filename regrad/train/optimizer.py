"""Optimizer: from a loss to an operation that changes variables, in two halves that programs may come between.

    grads_and_vars = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients([(clip(g), v) for g, v in grads_and_vars])
"""

from regrad.autodiff.gradients import gradients
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import Operation, Tensor
from regrad.core.shown import Shown
from regrad.ops import array, control, state
from regrad.ops.partition import unique
from regrad.ops.segment import unsorted_segment_sum
from regrad.ops.train import sum_repeated_rows
from regrad.train import slots
from regrad.variables.lifting import graph_around, init_scope
from regrad.variables.listing import trainable_variables
from regrad.variables.variable import Variable

_VALID = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class Optimizer(Shown):
    """Base class. A subclass gives the four hooks `_prepare`, `_create_slots`, `_apply_dense`, `_apply_sparse`.

    Slots are variables that belong to (variable, slot name); they are made by `apply_gradients` and named as in TF1, for
    instance "w/Momentum".
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking, name):
        """Args: use_locking: accepted; name: name scope of the update operations.

        Raises:
          ValueError: no name.
        """
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = {}  # slot name -> {storage operation of a variable: slot variable}
        self._non_slots = {}  # (name, graph) -> variable

    def get_name(self):
        """Returns the optimizer's name, that of the scope of its operations by default."""
        return self._name

    # -- public ------------------------------------------------------------------------------------

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None, overrides=None, accumulate=None, view=None,
                 order=None):
        """Returns an operation that changes the variables so that `loss` falls, and adds 1 to `global_step`.

        Args:
          loss: scalar tensor (any shape: its sum counts).
          global_step: variable to increment after the update.
          var_list: variables to change; by default all in the collection TRAINABLE_VARIABLES.
          grad_loss: the gradient arriving at `loss`; ones by default.
          name: name of the operation.
          gate_gradients: GATE_GRAPH computes all gradients before using any; the others are accepted.
          aggregation_method, colocate_gradients_with_ops: accepted.
          overrides, accumulate, view, order: how the gradients are taken, as of `tf.gradients`.

        Raises:
          ValueError: there are no variables, or no gradient reaches any.
          OverrideError: (a ValueError) an override or a rule of `accumulate` had nothing to do.
        """
        ways = {"overrides": overrides, "accumulate": accumulate, "view": view, "order": order}
        grads_and_vars = self.compute_gradients(  # by name: those of programs' own optimizers may take fewer
            loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss,
            **{key: value for key, value in ways.items() if value is not None})
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                f"variables {[str(v) for _, v in grads_and_vars]} and loss {loss}. No path leads from them to it: it may be "
                "made of other variables, or the path is cut by tf.stop_gradient, a cast to integers, tf.argmax, or a "
                "tf.py_func without grad=.")
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None, overrides=None, accumulate=None, view=None,
                          order=None):
        """Returns a list of (gradient, variable); the gradient is a Tensor, IndexedSlices or None.

        Args: as for `minimize`.

        Raises:
          ValueError: a wrong `gate_gradients`, no variables, or one of a dtype that has no gradient.
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                             f"Optimizer.GATE_GRAPH.  Not {gate_gradients}")
        if callable(loss):
            loss = loss()
        if loss is None:
            raise ValueError("minimize: loss is None; it must be a tensor, such as what tf.reduce_mean returns.")
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        var_list = trainable_variables() if var_list is None else _flat(var_list)
        if not var_list:
            raise ValueError("No variables to optimize. " + _where_variables_are())
        for v in var_list:
            if not isinstance(v, (Variable, Tensor)):
                raise TypeError(f"Argument is not a tf.Variable: {v!r}. var_list holds variables, as tf.trainable_variables() "
                                "gives them.")
        grads = gradients(loss, var_list, grad_ys=grad_loss, gate_gradients=gate_gradients == Optimizer.GATE_OP,
                          aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                          overrides=overrides, accumulate=accumulate, view=view, order=order)
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = control.tuple(grads)
        pairs = list(zip(grads, var_list))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None])
        return pairs

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns an operation that applies gradients to variables, and adds 1 to `global_step`.

        Args:
          grads_and_vars: list of (gradient, variable) as `compute_gradients` returns; pairs without gradient are skipped.
          global_step: variable to increment after the update.
          name: name of the operation; the optimizer's by default.

        Raises:
          ValueError: no pairs, or none with a gradient.
          TypeError: a gradient that is no tensor, or what is no pair; `global_step` is no variable.
          NotImplementedError: the second of a pair is no variable.
        """
        pairs = _checked_pairs(grads_and_vars)
        if global_step is not None and not isinstance(global_step, (Variable, Tensor)):
            raise TypeError(f"global_step must be a variable, got {global_step!r}; tf.train.get_or_create_global_step() makes "
                            "one.")
        var_list = [v for g, v in pairs if g is not None]
        if not var_list:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        graph = graph_around(var_list[0])
        with graph.as_default():
            with init_scope():
                self._create_slots(var_list)
            with graph.name_scope(name or self._name) as scope:
                self._prepare()
                updates = []
                for g, v in pairs:
                    if g is not None:
                        with graph.name_scope(f"update_{v.op.name}"):
                            updates.append(self._update(g, v))
                if global_step is None:
                    train_op = self._finish(updates, scope)
                else:
                    with graph.control_dependencies([self._finish(updates, "update")]):
                        train_op = state.assignadd_op(_storage(global_step), 1, name=scope)
        train_op = train_op if isinstance(train_op, Operation) else train_op.op
        collection = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in collection and not isinstance(graph, FuncGraph):  # nobody can run what is in a body
            collection.append(train_op)
        return train_op

    def get_slot(self, var, name):
        """Returns the slot variable `name` of `var`, or None when there is none."""
        return self._slots.get(name, {}).get(var.op)

    def get_slot_names(self):
        """Returns the names of the slots that exist, sorted."""
        return sorted(self._slots)

    def variables(self):
        """Returns the variables that hold this optimizer's state in the default graph, sorted by name."""
        graph = get_default_graph()
        found = [v for v in self._non_slots.values() if isinstance(v, Variable)]
        for of_variable in self._slots.values():
            found += of_variable.values()
        return sorted((v for v in found if v.graph is graph), key=lambda v: v.name)

    # -- what subclasses give ------------------------------------------------------------------------

    def _prepare(self):
        """Makes tensors of the hyperparameters, inside the optimizer's name scope."""

    def _create_slots(self, var_list):
        """Makes the slots for these variables."""

    def _apply_dense(self, grad, var):
        """Returns the operation that updates `var` by a dense gradient; by default what `_resource_apply_dense` does."""
        return self._resource_apply_dense(grad, var)

    def _resource_apply_dense(self, grad, handle):
        """As `_apply_dense`, which TensorFlow asks for variables of another kind: a subclass gives either."""
        raise NotImplementedError(f"{type(self).__name__} must give _apply_dense(grad, var).")

    def _apply_sparse(self, grad, var):
        """Returns the operation that updates `var` by an IndexedSlices without repeated indices; by default what
        `_resource_apply_sparse` does."""
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad, handle, indices):
        """As `_apply_sparse`, for rows `grad` of the variable `handle`: a subclass gives either."""
        raise NotImplementedError(f"{type(self).__name__} must give _apply_sparse(grad, var): the gradient of {handle.name} is "
                                  "an IndexedSlices. tf.convert_to_tensor makes it dense.")

    def _apply_sparse_duplicate_indices(self, grad, var):
        """Returns the operation that updates `var` by an IndexedSlices whose indices may repeat: sums those first."""
        rows_alone = self._nearest("_apply_sparse", "_resource_apply_sparse") == self._resource_apply_sparse
        if rows_alone or type(self)._apply_sparse is Optimizer._apply_sparse:
            return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
        summed = _distinct_rows
        if all(getattr(vars(c)[name], "_only_writes", False) for name in ("_apply_sparse", "_apply_sparse_shared")
               for c in type(self).__mro__ if name in vars(c) and c is not Optimizer):
            summed = sum_repeated_rows
        values, indices = summed(grad.values, grad.indices, var.dims[0] if var.dims else None)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        """As `_apply_sparse_duplicate_indices`, for rows `grad` of the variable `handle`."""
        rows, indices = _distinct_rows(grad, indices)
        return self._resource_apply_sparse(rows, handle, indices)

    def _finish(self, update_ops, name_scope):
        """Returns the operation that is done when all updates are; a subclass may change its own state here."""
        return control.group(*update_ops, name=name_scope)

    def _valid_dtypes(self):
        return set(_VALID)

    # -- for subclasses --------------------------------------------------------------------------------

    def _update(self, grad, var):
        if isinstance(grad, Tensor):
            update = self._nearest("_apply_dense", "_resource_apply_dense")(grad, var)
            constraint = getattr(var, "constraint", None)
            if constraint is None:
                return update
            with get_default_graph().control_dependencies([update]):
                return var.assign(constraint(var.read_value()))
        if getattr(var, "constraint", None) is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        names = "_apply_sparse_duplicate_indices", "_resource_apply_sparse_duplicate_indices"
        if self._nearest(*names) == getattr(self, names[1]):
            return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
        return self._apply_sparse_duplicate_indices(grad, var)

    def _nearest(self, name, other):
        """Returns the one of two methods that the most special class defines; the first where it defines both."""
        for cls in type(self).__mro__:
            if name in vars(cls):
                return getattr(self, name)
            if other in vars(cls):
                return getattr(self, other)

    def _assert_valid_dtypes(self, tensors):
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype if hasattr(t, "dtype") else convert_to_tensor(t).dtype
            if dtypes.as_dtype(dtype) not in valid:
                raise ValueError(f"Invalid type {dtype!r} for {getattr(t, 'name', repr(t))}, expected: "
                                 f"{sorted(v.name for v in valid)}.")

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        made = self._slot_dict(slot_name)
        if var.op not in made:
            made[var.op] = slots.create_slot(var, val, op_name)
        return made[var.op]

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        made = self._slot_dict(slot_name)
        if var.op not in made:
            made[var.op] = slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        return made[var.op]

    def _zeros_slot(self, var, slot_name, op_name):
        made = self._slot_dict(slot_name)
        if var.op not in made:
            made[var.op] = slots.create_zeros_slot(var, op_name)
        return made[var.op]

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        key = name, colocate_with.graph
        if key not in self._non_slots:
            self._non_slots[key] = Variable(initial_value, name=name, trainable=False)
        return self._non_slots[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slots.get((name, graph))

    def _call_if_callable(self, param):
        return param() if callable(param) else param

    def _hyper(self, value, name):
        """Returns a hyperparameter as a tensor; functions are called first."""
        value = self._call_if_callable(value)
        if value is None or isinstance(value, (str, bytes)):
            raise (ValueError if value is None else TypeError)(
                f"{type(self).__name__}: {name} must be a number or a scalar tensor, got {value!r}.")
        if isinstance(value, float) and value != value:
            raise ValueError(f"{type(self).__name__}: {name} is NaN: the first step would make all variables NaN.")
        return convert_to_tensor(value, name=name)


def methods_of(source):
    """Decorator that gives an optimizer what it does not define of `source`, a class that is no base of it.

    Programs that find the optimizers of `tf.train` look for classes whose `__base__` is Optimizer.
    """

    def decorate(cls):
        for name, value in vars(source).items():
            if not name.startswith("__") and name not in vars(cls):
                setattr(cls, name, value)
        return cls

    return decorate


def only_writes(apply_sparse):
    """Decorator of an `_apply_sparse` that only writes to the rows it is given: of repeated indices all but one may then be
    out of range, where nothing is written, so that the number of rows is known before the run."""
    apply_sparse._only_writes = True
    return apply_sparse


def _checked_pairs(grads_and_vars):
    """Returns [(Tensor, IndexedSlices or None, Variable)] of what `apply_gradients` is given."""
    pairs = []
    for pair in grads_and_vars:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError("apply_gradients takes a list of pairs (gradient, variable), as compute_gradients returns it; "
                            f"got {pair!r} in it.")
        g, v = pair
        if not isinstance(v, Variable) and g is not None:
            raise NotImplementedError(f"Trying to update a Tensor: {v!r}, the second of a pair (gradient, variable), is no "
                                      "tf.Variable.")
        if g is not None and not isinstance(g, (Tensor, IndexedSlices)):
            try:
                g = convert_to_tensor(g)
            except TypeError:
                raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {g}") from None
        pairs.append((g, v))
    if not pairs:
        raise ValueError("No variables provided.")
    return pairs


def _distinct_rows(values, indices, num_rows=None):
    """Returns (values, indices) with the values of equal indices summed; how many there are is known when they are."""
    distinct, places = unique(indices)
    return unsorted_segment_sum(values, places, array.size(distinct)), distinct


def _storage(variable):
    return getattr(variable, "_variable", variable)


def _where_variables_are():
    """Says where the trainable variables are that the default graph lacks, or that none was made."""
    graph = get_default_graph()
    others = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if isinstance(v, Variable)]
    if others:
        return f"The graph's variables, such as {others[0].name}, were made with trainable=False; var_list= names some."
    return "The default graph has no variable: make them, with tf.get_variable or tf.layers, in the graph of the loss."


def _flat(var_list):
    if isinstance(var_list, (list, tuple, set)):
        return [v for item in var_list for v in _flat(item)]
    if isinstance(var_list, dict):
        return [v for item in var_list.values() for v in _flat(item)]
    return list(var_list) if hasattr(var_list, "as_tensor") else [var_list]


