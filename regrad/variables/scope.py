"""Variables by name: get_variable and variable_scope, with TF1's sharing rules."""

import contextlib
import functools
import inspect
import threading

import numpy as np

from regrad.core import source
from regrad.core.convert import convert_to_tensor, holds_tensor, to_array
from regrad.core.dtypes import as_dtype, float32
from regrad.core.errors import nearest
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, compatible
from regrad.core.shown import Shown
from regrad.variables.initializers import Initializer, glorot_uniform_initializer, zeros_initializer
from regrad.variables.lifting import root_graph
from regrad.variables.partition import PartitionedVariable, partitions
from regrad.variables.variable import Variable, VariableAggregation, VariableSynchronization


class _Reuse:
    """The value of AUTO_REUSE: create a variable if it does not exist, share it if it does."""

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self):
        return "AUTO_REUSE"


AUTO_REUSE = _Reuse()


class _Store:
    """The variables of a graph made by `get_variable`, by name."""

    def __init__(self):
        self.vars = {}
        self.partitioned = {}

    def get_variable(self, name, shape=None, dtype=float32, initializer=None, regularizer=None, reuse=None, trainable=None,
                     collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
                     custom_getter=None, constraint=None, synchronization=None, aggregation=None):
        dtype = as_dtype(dtype)
        # A custom getter is told what None stands for.
        synchronization = VariableSynchronization.AUTO if synchronization is None else synchronization
        aggregation = VariableAggregation.NONE if aggregation is None else aggregation
        trainable = trainable_when(synchronization, trainable, name)

        def true_getter(name, shape=None, dtype=float32, initializer=None, regularizer=None, reuse=None, trainable=None,
                        collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
                        constraint=None, synchronization=None, aggregation=None):
            arguments = dict(shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, reuse=reuse,
                             trainable=trainable, collections=collections, validate_shape=validate_shape,
                             constraint=constraint, synchronization=synchronization, aggregation=aggregation)
            if partitioner is not None:
                return self._partitioned(name, partitioner=partitioner, **arguments)
            if name in self.partitioned:
                if reuse is True:
                    return self._partitioned(name, partitioner=lambda **_: None, **arguments)
                raise ValueError(f"No partitioner was provided, but a partitioned version of the variable was found: {name}/"
                                 "part_0. Perhaps a variable of the same name was already created with partitioning?")
            return self._single(name, **arguments)

        arguments = dict(name=name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, reuse=reuse,
                         trainable=trainable, collections=collections, caching_device=caching_device,
                         partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource,
                         synchronization=synchronization, aggregation=aggregation)
        if custom_getter is None:
            return true_getter(constraint=constraint, **arguments)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        if _takes(custom_getter, "constraint"):
            arguments["constraint"] = constraint
        return custom_getter(getter=true_getter, **arguments)

    def _single(self, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, validate_shape,
                constraint, synchronization, aggregation, partition_info=None):
        from_value = initializer is not None and not callable(initializer)
        regularizer = regularizer or None  # an empty dictionary is none, as in TensorFlow
        if regularizer is not None and not callable(regularizer):
            raise TypeError(f"Variable {name}: regularizer must be a function of the variable, got {regularizer!r}; "
                            "tf.contrib.layers.l2_regularizer(scale) makes one.")
        if from_value and shape is not None:
            given = initializer.tolist() if hasattr(initializer, "tolist") else initializer
            given = given.decode() if isinstance(given, bytes) else given
            raise ValueError(f"If initializer is a constant, do not specify shape. Variable {name} has the initializer "
                             f"{given!r:.100} and the shape {shape}; tf.constant_initializer(value) and "
                             "tf.zeros_initializer() fill a shape.")
        shape = _checked_shape(name, shape)
        found = self.vars.get(name)
        if found is not None:
            return _shared(found, name, shape, dtype, reuse, from_value, initializer)
        if reuse is True:
            raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                             f"reuse=tf.AUTO_REUSE in VarScope?{nearest(name, self.vars)}")
        if from_value:
            init, variable_dtype = initializer, None  # a value has its own type
        else:
            init = _initial_value(name, shape, dtype, initializer, partition_info, validate_shape)
            if validate_shape and shape is not None:
                init = functools.partial(_of_shape, init, shape, name)
            variable_dtype = dtype
        variable = Variable(init, trainable=trainable, collections=collections, validate_shape=validate_shape, name=name,
                            dtype=variable_dtype, constraint=constraint, synchronization=synchronization,
                            aggregation=aggregation)
        self.vars[name] = variable
        if regularizer is not None:
            graph = variable.graph
            with graph.as_default(), graph.name_scope(f"{name}/Regularizer/"):
                loss = regularizer(variable)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return variable

    def _partitioned(self, name, partitioner, shape, dtype, initializer, reuse, **arguments):
        if name in self.vars:
            raise ValueError(f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}. "
                             "Perhaps a variable of the same name was already created without partitioning?")
        if shape is None and initializer is not None and not callable(initializer):
            value = convert_to_tensor(initializer, dtype=None if hasattr(initializer, "dtype") else dtype)
            shape, dtype = value.shape, value.dtype
            initializer = value
        if not callable(partitioner):
            raise ValueError(f"Variable {name}: Partitioner must be callable, but received: {partitioner!r}")
        shape = _checked_shape(name, shape) or TensorShape(None)
        if name in self.partitioned:
            found = self.partitioned[name]
            if reuse is False or reuse is None:
                raise ValueError(f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                                 "reuse=tf.AUTO_REUSE in VarScope?")
            if not shape.is_compatible_with(found.shape):
                raise ValueError(f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape "
                                 f"{found.shape}.")
            return found
        if reuse is True:
            raise ValueError(f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you "
                             "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?")
        if not shape.is_fully_defined():
            raise ValueError(f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}.")
        pieces = []
        counts, slices = partitions(partitioner, shape, dtype)
        for i, (offset, size) in enumerate(slices):
            value = _part(initializer, offset, size) if isinstance(initializer, Tensor) else initializer
            part = self._single(f"{name}/part_{i}", shape=None if isinstance(value, Tensor) else size, dtype=dtype,
                                initializer=value, reuse=reuse, partition_info=(shape, offset), **arguments)
            part._set_save_slice_info(Variable.SaveSliceInfo(name, shape.as_list(), offset, size))
            pieces.append(part)
        whole = self.partitioned[name] = PartitionedVariable(name, shape, dtype, pieces, counts)
        return whole


def _checked_shape(name, shape):
    try:
        return None if shape is None else TensorShape(shape)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Variable {name}, shape {shape!r}: {error}") from None


def _part(value, offset, size):
    return value[tuple(slice(o, o + s) for o, s in zip(offset, size))]


def _takes(function, argument):
    """True when `function` accepts the keyword `argument`."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == argument or p.kind is p.VAR_KEYWORD for p in parameters)


def _shared(found, name, shape, dtype, reuse, from_value, initializer):
    """Returns the variable that exists, after checking that sharing it is allowed and meant."""
    if reuse is False or reuse is None:
        again = "" if source.shell() is None else (
            " Where a cell runs again, its graph is still there: tf.reset_default_graph() before it begins anew.")
        raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE "
                         f"in VarScope? Originally defined at {found.op.location}.{again}")
    if shape is not None and not compatible(shape.dims_, found.dims):
        raise ValueError(f"Trying to share variable {name}, but specified shape {shape} and found shape {found.shape}. "
                         f"Originally defined at {found.op.location}.")
    if from_value and hasattr(initializer, "dtype"):
        dtype = as_dtype(initializer.dtype)
    if dtype is not found.dtype:
        raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                         f"{found.dtype.name}. Originally defined at {found.op.location}.")
    return found


def _of_shape(make, shape, name):
    value = make()
    found = np.shape(value) if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)) else (
        getattr(value, "shape", None))
    found = TensorShape(found) if isinstance(found, tuple) else found
    if isinstance(found, TensorShape) and not found.is_compatible_with(shape):
        raise ValueError(f"The initial value's shape ({found}) of variable {name} is not compatible with the explicitly "
                         f"supplied `shape` argument ({shape}).")
    return value


def _initial_value(name, shape, dtype, initializer, partition_info, validate_shape):
    """Returns a function of no arguments that makes the initial value."""
    if initializer is None:
        if dtype.is_floating or dtype.is_complex:
            initializer = glorot_uniform_initializer()
        elif dtype.is_integer or dtype.is_bool or dtype.name == "string":
            initializer = zeros_initializer()
        else:
            raise ValueError(f"An initializer for variable {name} of {dtype} is required")
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        sizes = shape.as_list()
        if _takes(initializer, "partition_info") and (partition_info is not None or not isinstance(initializer, Initializer)):
            info = None if partition_info is None else _PartitionInfo(*partition_info)
            return lambda: initializer(sizes, dtype=dtype, partition_info=info)
        if _takes(initializer, "dtype"):
            return lambda: initializer(sizes, dtype=dtype)
        parameters = inspect.signature(initializer).parameters
        return initializer if not parameters else lambda: initializer(sizes)
    if validate_shape and shape is not None:
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}.")
    required = [p for p in inspect.signature(initializer).parameters.values()
                if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if required:
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was <unknown>. Give shape=, or "
                         "an initializer that is a value or takes no arguments.")
    return initializer


class _PartitionInfo:
    """Which part of a whole variable an initializer makes: TF's `partition_info` argument.

    Attributes:
      full_shape: shape of the whole, a list.
      var_offset: where the part begins, a list.
    """

    def __init__(self, full_shape, var_offset):
        self.full_shape = TensorShape(full_shape).as_list()
        self.var_offset = list(var_offset)

    def single_slice_dim(self, shape):
        """Returns the one axis along which a part of `shape` is less than the whole, None where it is the whole.

        Raises:
          TypeError: `shape` is no list or tuple.
          ValueError: no part of that shape fits, or it is cut along several axes.
        """
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"shape must be a sequence (like a list or tuple), got {type(shape).__name__}.")
        if len(shape) != len(self.full_shape) or any(o + n > whole for o, n, whole in zip(
                self.var_offset, shape, self.full_shape)):
            raise ValueError(f"A part of shape {list(shape)} at {self.var_offset} is not within {self.full_shape}.")
        cut = [i for i, (n, whole) in enumerate(zip(shape, self.full_shape)) if n != whole]
        if len(cut) > 1:
            raise ValueError(f"A part of shape {list(shape)} is cut along several axes of {self.full_shape}.")
        return cut[0] if cut else None

    def single_offset(self, shape):
        """Returns where a part of `shape` begins along the axis it is cut along; see `single_slice_dim`."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]


# -- scopes ------------------------------------------------------------------------------------------------


def trainable_when(synchronization, trainable, name):
    """Returns whether a variable is trainable: by default it is, unless each replica would have its own (ON_READ).

    Raises:
      ValueError: it was asked to be although each replica would have its own.
    """
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                         "variables. You have specified trainable=True and synchronization="
                         f"VariableSynchronization.ON_READ for {name}.")
    return False


class VariableScope(Shown):
    """Prefix and defaults for `get_variable`.

    Attributes:
      name: prefix of variable names, without a trailing slash.
      original_name_scope: the name scope in which the scope was first entered, with its slash.
      reuse: False or None (make new variables), True (share existing ones) or AUTO_REUSE.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults.
    """

    def __init__(self, reuse, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None,
                 custom_getter=None, name_scope="", dtype=float32, use_resource=None, constraint=None):
        self._name = name
        self._name_scope = name_scope
        self._reuse = reuse
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self):
        """From here on `get_variable` shares existing variables; this cannot be taken back."""
        self._reuse = True

    def set_initializer(self, initializer):
        """Sets the default initializer of this scope."""
        self._initializer = initializer

    def set_dtype(self, dtype):
        """Sets the default dtype of this scope."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource):
        """Accepted: all variables are of one kind here."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer):
        """Sets the default regularizer of this scope."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device):
        """Accepted, without meaning here."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner):
        """Sets the default partitioner of this scope."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        """Sets the custom getter of this scope."""
        self._custom_getter = custom_getter

    def get_collection(self, name):
        """Returns the items of a graph collection whose names begin with this scope's."""
        return get_default_graph().get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self):
        """Returns the trainable variables under this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        """Returns the global variables under this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        """Returns the local variables under this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True,
                     use_resource=None, custom_getter=None, constraint=None, synchronization=None, aggregation=None):
        """Returns the variable `name` under this scope, from the graph's store `var_store`."""
        if name is not None and not isinstance(name, str):
            raise TypeError(f"get_variable: the name comes first and is a string, got {name!r}.")
        if reuse is None:
            reuse = self._reuse
        full_name = self._name if name is None else f"{self._name}/{name}" if self._name else name
        with get_default_graph().name_scope(None):  # variable names know variable scopes alone
            plain = isinstance(initializer, (int, float, complex, str, bytes, list, tuple)) and not holds_tensor([initializer])
            if plain and not hasattr(initializer, "dtype"):
                initializer = to_array(initializer, dtype and as_dtype(dtype))  # a value has its own type, not the scope's
            has_type = initializer is not None and not callable(initializer) and hasattr(initializer, "dtype")
            if dtype is not None and has_type and as_dtype(initializer.dtype) is not as_dtype(dtype):
                raise ValueError(f"Initializer type '{as_dtype(initializer.dtype).name}' and explicit dtype "
                                 f"'{as_dtype(dtype).name}' don't match.")
            return var_store.get_variable(
                full_name, shape=shape, dtype=self._dtype if dtype is None else dtype,
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer, reuse=reuse, trainable=trainable,
                collections=collections, caching_device=caching_device, validate_shape=validate_shape,
                partitioner=self._partitioner if partitioner is None else partitioner, use_resource=use_resource,
                custom_getter=self._custom_getter if custom_getter is None else custom_getter,
                constraint=self._constraint if constraint is None else constraint, synchronization=synchronization,
                aggregation=aggregation)


class _ScopeStore(threading.local):
    """Per graph and thread: the current scope, and how often each scope name was opened."""

    def __init__(self):
        self.current = VariableScope(False)
        self.counts = {}

    def open(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_under(self, name):
        """Forgets how often scopes below `name` were opened: default names start again in a new visit."""
        for key in self.counts:
            if name is None or key.startswith(name + "/"):
                self.counts[key] = 0


def _store():
    """Returns the variable store of the root graph."""
    graph = root_graph()
    store = graph.__dict__.get("_variable_store")
    if store is None:
        store = graph._variable_store = _Store()
    return store


def _scopes():
    graph = root_graph()
    scopes = graph.__dict__.get("_variable_scopes")
    if scopes is None:
        scopes = graph._variable_scopes = _ScopeStore()
    return scopes


def get_variable_scope():
    """Returns the current VariableScope of the default graph."""
    return _scopes().current


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
                 caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                 constraint=None, synchronization=None, aggregation=None):
    """Returns the variable `name` of the current variable scope, made now or shared.

    Args:
      name: its name, to which the variable scope's is prefixed; name scopes do not matter.
      shape: its shape; not with an initializer that is a value.
      dtype: its DType, by default the scope's (float32).
      initializer: a function `(shape, dtype)` such as `tf.zeros_initializer()`, or a tensor or value; by default the
        scope's, or glorot_uniform for floating and complex types, zeros for others.
      regularizer: function of the variable; its result goes to the collection REGULARIZATION_LOSSES.
      partitioner: function `(shape, dtype)` -> number of parts per axis; the result is then a PartitionedVariable.
      custom_getter: function `(getter, name, *args, **kwargs)` that makes the variable, usually by `getter`.
      trainable, collections, validate_shape, constraint: as for `Variable`.
      caching_device, use_resource, synchronization, aggregation: accepted for TF's sake.

    Raises:
      ValueError: it exists and the scope does not share, or the other way round, or shape or dtype differ from those
        of the variable to be shared; the shape is missing or not fully known.

    Example:
      w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          print(w.name, sess.run(w))
      #> w:0 [1. 1.]
    """
    return get_variable_scope().get_variable(
        _store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=collections, caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape,
        use_resource=use_resource, custom_getter=custom_getter, constraint=constraint, synchronization=synchronization,
        aggregation=aggregation)


def create_partitioned_variables(shape, slicing, initializer, dtype=float32, trainable=True, collections=None, name=None,
                                 reuse=None):
    """Returns the parts, a list of variables, of a variable of `shape` cut into `slicing[i]` parts along axis i.

    Args: as of `get_variable`; slicing: one positive number per axis, at most one of them above 1.
    """
    if len(slicing) != len(shape):
        raise ValueError(f"slicing must have the same rank as shape: {list(slicing)} and {list(shape)}.")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        whole = scope.get_variable(_store(), None, shape=shape, dtype=dtype, initializer=initializer, trainable=trainable,
                                   collections=collections, partitioner=lambda shape, dtype: slicing)
    return list(whole)


def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False, collections=None,
                       **kwargs):
    """Returns a variable as `get_variable` does, not trainable and in the collection LOCAL_VARIABLES."""
    collections = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, trainable=False, collections=collections, **kwargs)


def _composed(getter, outer):
    """A custom getter inside another one: the inner is called first, and its `getter` calls the outer."""
    if getter is None:
        return outer
    if outer is None:
        return getter
    return lambda getter_, *args, **kwargs: getter(functools.partial(outer, getter_), *args, **kwargs)


class _ByKeyword:
    """Calls a composed getter whose first argument may come by the keyword `getter`."""

    def __init__(self, function, inner):
        self.function = function
        self.__wrapped__ = inner

    def __call__(self, getter, *args, **kwargs):
        return self.function(getter, *args, **kwargs)


def _inherited(getter, outer):
    composed = _composed(getter, outer)
    return composed if composed in (getter, outer) else _ByKeyword(composed, getter)


@contextlib.contextmanager
def variable_scope_only(name_or_scope, reuse, name_scope, initializer=None, regularizer=None, caching_device=None,
                        partitioner=None, custom_getter=None, dtype=None, use_resource=None, constraint=None):
    """Enters a variable scope without a name scope; yields the VariableScope."""
    scopes = _scopes()
    old = scopes.current
    counts = None
    if isinstance(name_or_scope, VariableScope):
        base, name = name_or_scope, name_or_scope.name
        counts = dict(scopes.counts)
        outer_getter, name_scope = base.custom_getter, base.original_name_scope if name_scope is None else name_scope
    else:
        base, name = old, f"{old.name}/{name_or_scope}" if old.name else name_or_scope
        outer_getter = old.custom_getter
    new = VariableScope(
        reuse or base.reuse, name, initializer=base.initializer if initializer is None else initializer,
        regularizer=base.regularizer if regularizer is None else regularizer,
        caching_device=base.caching_device if caching_device is None else caching_device,
        partitioner=base.partitioner if partitioner is None else partitioner,
        custom_getter=_inherited(custom_getter, outer_getter), name_scope=name_scope or "",
        dtype=base.dtype if dtype is None else as_dtype(dtype),
        use_resource=base.use_resource if use_resource is None else use_resource,
        constraint=base.constraint if constraint is None else constraint)
    scopes.open(name)
    scopes.current = new
    try:
        yield new
    finally:
        scopes.close_under(name)
        if counts is not None:
            scopes.counts = counts
        scopes.current = old


class Visit:
    """A point of a program: what is called there again gets the variables it made, by the same names."""

    def __init__(self):
        scopes = _scopes()
        self._scope, self._counts = scopes.current, dict(scopes.counts)

    @contextlib.contextmanager
    def again(self):
        """Context manager: the variable scope of that point, where variables are shared and none is made."""
        with variable_scope_only(self._scope, True, None):
            _scopes().counts = dict(self._counts)  # default names, "dense" and "dense_1", are counted from there
            yield


def unique_scope_name(prefix):
    """Returns `prefix`, with _1, _2 ... when a scope of that name was opened in this visit of the current scope."""
    scopes = _scopes()
    base = f"{scopes.current.name}/{prefix}" if scopes.current.name else prefix
    if not scopes.counts.get(base):
        return prefix
    i = 1
    while scopes.counts.get(f"{base}_{i}"):
        i += 1
    return f"{prefix}_{i}"


class variable_scope(Shown):
    """Context manager: a prefix and defaults for `get_variable`, and a name scope for ops; yields a VariableScope.

        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [3, 2])      # "layer/w"

    Args:
      name_or_scope: the scope's name below the current one, or a VariableScope to enter again as it is.
      default_name: the name to use, made unique, when `name_or_scope` is None.
      values: tensors that the ops inside take; they decide the graph.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults
        for `get_variable` inside.
      reuse: True shares existing variables, AUTO_REUSE creates or shares, None inherits. Inherited by inner scopes.
      auxiliary_name_scope: False opens no name scope.

    Raises:
      ValueError: neither name is given, or `reuse` with a default name.
      TypeError: `name_or_scope` is neither string nor VariableScope.

    Example:
      with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
          w, again = tf.get_variable("w", [1]), tf.get_variable("w", [1])
      print(w.name, w is again)
      #> layer/w:0 True
    """

    def __init__(self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None,
                 caching_device=None, partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None,
                 constraint=None, auxiliary_name_scope=True):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if not (reuse is None or isinstance(reuse, (bool, _Reuse))):
            raise ValueError(f"The reuse parameter must be True or False or None, or tf.AUTO_REUSE, got {reuse!r}.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = [v for v in values or () if hasattr(v, "_as_graph_element") or hasattr(v, "values")]
        self._defaults = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device,
                              partitioner=partitioner, custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
                              constraint=constraint)
        self._reuse = reuse or None  # sharing is inherited: False cannot take it back
        if name_or_scope is None and self._reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._auxiliary = auxiliary_name_scope
        self._stacks = []

    def __enter__(self):
        stack = contextlib.ExitStack()
        try:
            scope = self._enter(stack)
        except BaseException:
            stack.close()
            raise
        self._stacks.append(stack)
        return scope

    def __exit__(self, *exc):
        return self._stacks.pop().__exit__(*exc)

    def _enter(self, stack):
        graph = get_default_graph()
        if self._values and self._values[0].graph is not graph and graph.outer_graph is None:
            graph = self._values[0].graph
            stack.enter_context(graph.as_default())
        target = self._name_or_scope
        if target is None:
            prefix = self._name_scope(stack, graph, self._default_name)
            name = unique_scope_name(self._default_name)
            return stack.enter_context(variable_scope_only(name, None, prefix, **self._defaults))
        again = isinstance(target, VariableScope)
        last = target.name.split("/")[-1] if again else target
        # Entering the root scope, "", opens no name scope: that would leave the ones around it.
        prefix = self._name_scope(stack, graph, last) if last else ""
        return stack.enter_context(variable_scope_only(target, self._reuse, None if again else prefix, **self._defaults))

    def _name_scope(self, stack, graph, name):
        if self._auxiliary:
            return stack.enter_context(graph.name_scope(name))
        current = graph.get_name_scope()
        return current + "/" if current else ""


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, initializer=None, regularizer=None, caching_device=None,
                      partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None,
                      constraint=None):
    """Context manager: `variable_scope` with the older order of arguments."""
    with variable_scope(name_or_scope, default_name, values, initializer=initializer, regularizer=regularizer,
                        caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, reuse=reuse,
                        dtype=dtype, use_resource=use_resource, constraint=constraint) as scope:
        yield scope


def no_regularizer(_):
    """A regularizer that gives no loss: lifts an outer scope's regularizer."""

