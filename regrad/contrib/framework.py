"""`tf.contrib.framework`: arguments that hold for a block, variables by scope, the global step."""

import contextlib
import functools
import re
import threading

from regrad.core import nest  # noqa: F401 - part of this namespace, with more in it than tf.nest
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph, is_tensor  # noqa: F401 - part of this namespace
from regrad.core.graph_keys import GraphKeys
from regrad.core.nest import flatten, pack_sequence_as  # noqa: F401 - tf.contrib.framework.nest's
from regrad.layers.core import smart_case, smart_cond, smart_constant_value  # noqa: F401 - part of this namespace
from regrad.ops.array import placeholder
from regrad.ops.check import assert_scalar
from regrad.ops.control import group
from regrad.ops.math import add_n
from regrad.ops.reduce import reduce_sum
from regrad.train.checkpoint import (  # noqa: F401 - part of this namespace
    checkpoint_exists,
    list_variables,
    load_checkpoint,
    load_variable,
)
from regrad.train.saver import Saver, init_from_checkpoint  # noqa: F401 - part of this namespace
from regrad.train.steps import (  # noqa: F401 - part of this namespace
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from regrad.variables.scope import get_variable
from regrad.variables.variable import Variable

_stack = threading.local()


# -- arg_scope ------------------------------------------------------------------------------------------
def _scopes():
    if not hasattr(_stack, "scopes"):
        _stack.scopes = [{}]
    return _stack.scopes


def _key(function):
    return getattr(function, "_arg_scope_key", None) or (function.__module__, function.__name__)


arg_scope_func_key = _key


def add_arg_scope(func):
    """Decorator: lets `arg_scope` give a function arguments."""

    @functools.wraps(func)
    def scoped(*args, **kwargs):
        return func(*args, **{**_scopes()[-1].get(scoped._arg_scope_key, {}), **kwargs})

    scoped._arg_scope_key = _key(func)
    return scoped


def has_arg_scope(func):
    """Returns whether `arg_scope` can give a function arguments."""
    return hasattr(func, "_arg_scope_key")


def current_arg_scope():
    """Returns {key of a function: the arguments it gets now}."""
    return _scopes()[-1]


def arg_scoped_arguments(func):
    """Returns the arguments that a function gets now."""
    return dict(current_arg_scope().get(_key(func), {}))


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Context manager: functions get keyword arguments inside the block, unless the call gives them.

        with arg_scope([layers.conv2d, layers.fully_connected], weights_regularizer=layers.l2_regularizer(1e-4)):
            ...

    Args:
      list_ops_or_scope: list of functions made with `add_arg_scope`, or what an earlier `with ... as scope` gave.

    Raises:
      TypeError: neither.
      ValueError: a scope with further arguments, or a function without `add_arg_scope`.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        new = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        new = dict(current_arg_scope())
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ValueError(f"{_key(function)} is not decorated with @add_arg_scope")
            new[_key(function)] = {**new.get(_key(function), {}), **kwargs}
    _scopes().append(new)
    try:
        yield new
    finally:
        _scopes().pop()


# -- variables ----------------------------------------------------------------------------------------
@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
             caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """Returns `get_variable(...)`; `device` is accepted."""
    collections = list(collections) if collections else [GraphKeys.GLOBAL_VARIABLES]
    return get_variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
                        collections=collections, partitioner=partitioner, custom_getter=custom_getter)


@add_arg_scope
def model_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
                   caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """Returns `variable(...)`, in the collection MODEL_VARIABLES too."""
    collections = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(name, shape, dtype, initializer, regularizer, trainable, list(dict.fromkeys(collections)),
                    partitioner=partitioner, custom_getter=custom_getter)


def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
    """Returns the variables of a collection below a scope (a name, or a VariableScope), whose names end in `suffix`."""
    prefix = getattr(scope, "name", scope)
    found = get_default_graph().get_collection(collection, scope=f"{prefix}/" if prefix and suffix else prefix)
    return [v for v in found if suffix is None or v.op.name.endswith(suffix)]


def get_model_variables(scope=None, suffix=None):
    """Returns the variables that layers made; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    """Returns the local variables; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    """Returns the trainable variables; see `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """Returns the variables whose last part of the name is `given_name`."""
    return [v for v in get_variables(scope) if v.op.name.rpartition("/")[2] == given_name]


def get_variables_to_restore(include=None, exclude=None):
    """Returns the global variables below the scopes `include` (by default all) but those below `exclude`."""
    def below(scopes):
        return {v for s in scopes for v in get_variables(s)}

    chosen = below(include) if include is not None else set(get_variables())
    left = below(exclude or ())
    return [v for v in get_variables() if v in chosen and v not in left]


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """Returns a function of a session that restores variables from a checkpoint, or None if none of them is in it.

    Args:
      var_list: list of variables, or {name in the checkpoint: variable}.
      ignore_missing_vars: leave out those that the checkpoint has not.
    """
    from regrad.train.checkpoint import CheckpointReader

    named = dict(var_list) if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        named = {n: v for n, v in named.items() if reader.has_tensor(n)}
    if not named:
        return None
    saver = Saver(named, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """Returns (operation, feeds): `session.run(operation, feeds)` gives variables the values of a checkpoint.

    Args:
      var_list: list of variables, or {name in the checkpoint: variable}.
      ignore_missing_vars: leave out those that the checkpoint has not.

    Raises:
      ValueError: the checkpoint lacks a variable, or has one of another shape.
    """
    reader = load_checkpoint(model_path)
    named = dict(var_list) if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    values = {}
    for name, v in named.items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                continue
            raise ValueError(f"Checkpoint is missing variable [{name}]")
        value = reader.array(name)
        if list(value.shape) != v.shape.as_list():
            raise ValueError(f"Total size of new array must be unchanged for {name}: the checkpoint has {list(value.shape)}, "
                             f"the variable {v.shape.as_list()}.")
        values[v.op.name] = value
    return assign_from_values(values)


def assign_from_values(var_names_to_values):
    """Returns (operation, feeds): `session.run(operation, feeds)` gives variables values.

    Args:
      var_names_to_values: {name of a variable's operation: array}.

    Raises:
      ValueError: there is no variable of that name.
    """
    assigned, feeds = [], {}
    for name, value in var_names_to_values.items():
        v = get_unique_variable(name)
        feed = placeholder(v.dtype, v.shape)
        assigned.append(v.assign(feed))
        feeds[feed] = value
    return group(*assigned), feeds


def assign_from_values_fn(var_names_to_values):
    """Returns a function of a session that gives variables values; see `assign_from_values`."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def get_variables_by_suffix(suffix, scope=None):
    """Returns the variables whose names end in `suffix`."""
    return get_variables(scope, suffix)


def get_variable_full_name(var):
    """Returns the name of a variable, or of the whole that a part of a variable belongs to."""
    parts = var._save_slice_info
    return parts.full_name if parts else var.op.name


def get_placeholders(graph):
    """Returns the placeholders of a graph."""
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def get_unique_variable(var_op_name):
    """Returns the variable whose operation has the name `var_op_name`.

    Raises:
      ValueError: there is none.
    """
    for v in get_variables():
        if v.op.name == var_op_name:
            return v
    raise ValueError(f"Variable {var_op_name} was not found in the graph")


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    """Returns the variables whose operations' names one of `include_patterns` meets, and none of `exclude_patterns`.

    Args:
      include_patterns, exclude_patterns: regular expressions; without any, all are included, none excluded.
      reg_search: search them anywhere in the name; False asks for them at its beginning.
    """
    meets = re.search if reg_search else re.match
    return [v for v in var_list
            if (not include_patterns or any(meets(p, v.op.name) for p in include_patterns))
            and not any(meets(p, v.op.name) for p in exclude_patterns or ())]


def add_model_variable(var):
    """Adds a variable to the collection MODEL_VARIABLES, unless it is there."""
    graph = get_default_graph()
    if not any(v is var for v in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Returns a variable of the collection LOCAL_VARIABLES that is not trained."""
    return Variable(initial_value, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=validate_shape,
                    name=name)


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Returns a variable of the collection GLOBAL_VARIABLES that is not trained."""
    return Variable(initial_value, trainable=False, validate_shape=validate_shape, name=name)


# -- names and checks ---------------------------------------------------------------------------------
def get_name_scope():
    """Returns the name scope in force, "" outside any."""
    return get_default_graph().get_name_scope()


def assert_scalar_int(tensor, name=None):
    """Returns `tensor` as a tensor; ValueError unless it is an integer scalar."""
    tensor = convert_to_tensor(tensor, name=name or "tensor")
    if not tensor.dtype.is_integer:
        raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
    return assert_scalar(tensor)


def get_graph_from_inputs(op_input_list, graph=None):
    """Returns the graph of tensors, or `graph`, or the default graph; ValueError where they differ."""
    graphs = [graph] if graph is not None else []
    graphs += [x.graph for x in op_input_list if hasattr(x, "graph")]
    if any(g is not graphs[0] for g in graphs):
        raise ValueError(f"get_graph_from_inputs: {list(op_input_list)} are not all of one graph.")
    return graphs[0] if graphs else get_default_graph()


def reduce_sum_n(tensors, name=None):
    """Returns the sum of all elements of a list of tensors, a scalar."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with get_default_graph().name_scope(name or "reduce_sum_n"):
        return add_n([reduce_sum(t) for t in tensors])


def assert_or_get_global_step(graph=None, global_step_tensor=None):
    """Returns the global step that is given, after a check, or the graph's."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor
