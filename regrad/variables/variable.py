"""Variable: a tensor that keeps its value between runs of a session.

A variable `w` is TF1's four parts: the storage `w` (VariableV2), the value it starts with (`w/initial_value`, or what an
initializer makes under `w/Initializer`), the operation that gives it that value (`w/Assign`), and the read of which
expressions are made (`w/read`, an Identity). Gradients flow through the reads to the storage.
"""

import contextlib
import enum
import functools
import inspect

import numpy as np

from regrad.core import context
from regrad.core.convert import convert_to_tensor, register_tensor_conversion_function
from regrad.core.dtypes import as_dtype
from regrad.core.func_graph import FuncGraph
from regrad.core.gradient_registry import RegisterGradient
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.opdef import Spec, define_op
from regrad.core.operation import Tensor
from regrad.core.shapes import as_dims, compatible, fully_known, merge
from regrad.core.symbolic import Symbolic
from regrad.core.traversal import assigned_before, may_assign
from regrad.ops import indexing, operators, state
from regrad.ops.array import identity
from regrad.variables import assign as assigning
from regrad.variables.lifting import init_scope


class VariableSynchronization(enum.IntEnum):
    """TF's names for when replicas of a variable are brought together; one process has nothing to choose."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.IntEnum):
    """TF's names for how replicas of a variable are brought together; one process has nothing to choose."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def _chosen(kind, given, default):
    """Returns `given`, one of an enumeration, or the default for None; ValueError for anything else."""
    if given is None:
        return default
    if given not in list(kind):
        raise ValueError(f"Invalid variable {kind.__name__.removeprefix('Variable').lower()} mode: {given!r}; it is one of "
                         f"{', '.join(map(str, kind))}.")
    return given


def _written(value, read_value):
    return value if read_value else value.op


_creators = context.DefaultStack()  # the functions of open variable_creator_scope blocks


class _Created(type):
    """Makes variables through the functions of the `variable_creator_scope` blocks around."""

    @property
    def __signature__(cls):
        parameters = inspect.signature(cls.__init__).parameters.values()
        return inspect.Signature([p for p in parameters if p.name != "self"])

    def __call__(cls, *args, **kwargs):
        if not _creators.items:
            return super().__call__(*args, **kwargs)
        make = super().__call__
        for creator in _creators.items:
            make = functools.partial(creator, make)
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        defaults = {p.name: p.default for p in parameters}
        return make(**{**defaults, **dict(zip(defaults, args)), **kwargs})


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    """Context manager: variables, those of `get_variable` too, are made by `variable_creator(next_creator, **kwargs)`.

    Args:
      variable_creator: function that returns the variable, usually that of `next_creator(**kwargs)` with arguments of
        `Variable` changed; inner blocks are asked first.
    """
    _creators.items.append(variable_creator)
    try:
        yield
    finally:
        _creators.items.pop()


class Variable(Symbolic, metaclass=_Created):
    """State of a session, used like a tensor and changed by `assign` and its kin.

        w = tf.Variable(tf.zeros([2, 3]), name="w")
        with tf.Session() as sess:
            sess.run(w.initializer)

    Attributes:
      name: "<storage operation>:0".
      dtype: its DType.
      shape: its static shape.
      op: the storage operation.
      graph: its graph.
      initializer: the operation that gives it its first value.
      initial_value: the tensor of that value.
      trainable: whether optimizers change it by default.
      constraint: function that optimizers apply to the new value, or None.

    Example:
      v = tf.Variable([1.0, 2.0])
      with tf.Session() as sess:
          sess.run(v.initializer)
          print(sess.run(v.assign_add([10.0, 10.0])))
      #> [11. 12.]
    """

    __array_priority__ = 100

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 use_resource=None, synchronization=None, aggregation=None, shape=None):
        """Makes a variable in the (outermost) default graph.

        Args:
          initial_value: what it starts with: a tensor, something convertible to one, or a function of no arguments that
            returns one (needed inside the body of a branch or loop, where a tensor would not exist outside).
          trainable: whether it joins the collection TRAINABLE_VARIABLES; by default it does.
          collections: names of graph collections it joins; by default [GLOBAL_VARIABLES].
          validate_shape: False lets the shape be unknown, and change.
          name: name of the storage operation, made unique; "Variable" by default.
          dtype: the DType to convert `initial_value` to.
          constraint: function of a tensor; optimizers put its result in place of each new value.
          shape: the static shape, where it must be less known than that of `initial_value`.
          variable_def: a VariableDef of `to_proto`, instead of everything else: the variable that the operations it names,
            in the scope `import_scope`, make up.
          caching_device, expected_shape, use_resource, synchronization, aggregation: accepted for TF's sake, without meaning
            here.

        Raises:
          ValueError: no initial value, or one of unknown shape while `validate_shape`, or one made inside a body;
            `collections` is no list, tuple or set; `synchronization` or `aggregation` is none of its kind.
        """
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_def(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError("collections argument to Variable constructor must be a list, tuple, or set. Got "
                            f"{collections} of type {type(collections)}")
        self._trainable = True if trainable is None else bool(trainable)
        self._constraint = constraint
        self._synchronization = _chosen(VariableSynchronization, synchronization, VariableSynchronization.AUTO)
        self._aggregation = _chosen(VariableAggregation, aggregation, VariableAggregation.NONE)
        self._save_slice_info = None
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        if isinstance(initial_value, Tensor) and isinstance(initial_value.graph, FuncGraph):
            raise ValueError(f"Initializer for variable {name or 'Variable'} is from inside a control-flow construct, such as "
                             "a loop or conditional. When creating a variable inside a loop or conditional, use a lambda "
                             f"as the initializer. The tensor is {initial_value.name}, made at "
                             f"{initial_value.op.location}.")
        dtype = None if dtype is None else as_dtype(dtype)
        with init_scope():
            graph = get_default_graph()
            if isinstance(initial_value, Tensor) and initial_value.graph is not graph:
                graph = initial_value.graph
            made_before = len(graph._ops)
            with graph.as_default(), graph.name_scope(name or "Variable") as scope:
                try:
                    if callable(initial_value):
                        with graph.name_scope("Initializer"):
                            value = convert_to_tensor(initial_value(), name="initial_value", dtype=dtype)
                    else:
                        value = convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
                    self._build(graph, scope, value, validate_shape, shape)
                except BaseException as error:
                    graph._withdraw(made_before, scope)  # so that the next try has the variable's name
                    error.add_note(f"while the initial value of variable {scope[:-1]!r} was made")
                    raise
        graph.add_to_collections(collections, self)

    def _build(self, graph, scope, value, validate_shape, shape):
        dims = value.dims if shape is None else merge(value.dims, as_dims(shape), "initial_value and shape:")
        if validate_shape and not fully_known(value.dims):
            raise ValueError(f"initial_value must have a shape specified: {value}. Pass validate_shape=False, or "
                             "use set_shape on it.")
        if shape is not None:
            dims = as_dims(shape)
        elif not validate_shape:
            dims = None
        self._graph = graph
        self._initial_value = value
        self._variable = state.variable_op(shape=dims, dtype=value.dtype, container=graph._container, name=scope)
        self._start = _independent(value, self._variable.op.name)
        self._initializer_op = state.assign_op(self._variable, self._start, name="Assign",
                                               validate_shape=validate_shape and shape is None).op
        self._snapshot = identity(self._variable, name="read")

    def _begin_with(self, value):
        """Lets the variable begin with a tensor of its shape and dtype instead of its initializer's value."""
        self._initial_value = self._start = value
        self._initializer_op = state.assign_op(self._variable, value).op

    def _from_def(self, variable_def, import_scope):
        graph = self._graph = get_default_graph()

        def element(name):
            return graph.as_graph_element(f"{import_scope.rstrip('/')}/{name}" if import_scope else name)

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        self._snapshot = element(variable_def.snapshot_name)
        self._start = self._initializer_op.inputs[1]
        self._initial_value = element(variable_def.initial_value_name) if variable_def.initial_value_name else self._start
        self._trainable, self._constraint = variable_def.trainable, None
        self._synchronization, self._aggregation = variable_def.synchronization, variable_def.aggregation
        info = variable_def.save_slice_info_def
        self._save_slice_info = self.SaveSliceInfo(save_slice_info_def=info) if info.full_name else None

    def to_proto(self, export_scope=None):
        """Returns the VariableDef that names the variable's operations; None if it is outside the scope `export_scope`."""
        from regrad.core.messages import VariableDef

        scope = export_scope.rstrip("/") + "/" if export_scope else ""
        if not self._variable.name.startswith(scope):
            return None
        names = (t.name[len(scope):] for t in (self._variable, self._initializer_op, self._snapshot, self._initial_value))
        made = VariableDef(**dict(zip(("variable_name", "initializer_name", "snapshot_name", "initial_value_name"), names)),
                           trainable=self._trainable, synchronization=self._synchronization, aggregation=self._aggregation)
        info = self._save_slice_info
        if info is not None:
            made.save_slice_info_def.CopyFrom(info.to_proto())
        return made

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        """Returns the Variable that the operations named by a VariableDef make up."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    class SaveSliceInfo:
        """Which part of a whole variable this one is: the whole's name and shape, the part's offset and shape."""

        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None, save_slice_info_def=None,
                     import_scope=None):
            if save_slice_info_def is not None:
                stored = save_slice_info_def
                full_name = f"{import_scope}/{stored.full_name}" if import_scope else stored.full_name
                full_shape, var_offset, var_shape = (
                    list(n) for n in (stored.full_shape, stored.var_offset, stored.var_shape))
            self.full_name, self.full_shape = full_name, full_shape
            self.var_offset, self.var_shape = var_offset, var_shape

        def to_proto(self, export_scope=None):
            """Returns the SaveSliceInfoDef, the name without `export_scope`; None when it is not in that scope."""
            from regrad.core.messages import SaveSliceInfoDef

            prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
            if not self.full_name.startswith(prefix):
                return None
            return SaveSliceInfoDef(full_name=self.full_name.removeprefix(prefix), full_shape=self.full_shape,
                                    var_offset=self.var_offset, var_shape=self.var_shape)

        @property
        def spec(self):
            """The part as checkpoints name it: "4 2 0,2:0,2"."""
            parts = ":".join(f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape))
            return " ".join(str(n) for n in self.full_shape) + " " + parts

    def _set_save_slice_info(self, save_slice_info):
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self):
        return self._save_slice_info

    # -- what it is ---------------------------------------------------------------------------------

    @property
    def name(self):
        return self._variable.name

    @property
    def op(self):
        return self._variable.op

    @property
    def graph(self):
        return self._graph

    @property
    def dtype(self):
        return self._variable.dtype

    @property
    def shape(self):
        return self._variable.shape

    def get_shape(self):
        return self._variable.shape

    @property
    def dims(self):
        return self._variable.dims

    @property
    def device(self):
        return self._variable.device

    @property
    def initializer(self):
        return self._initializer_op

    @property
    def initial_value(self):
        return self._initial_value

    @property
    def trainable(self):
        return self._trainable

    @property
    def constraint(self):
        return self._constraint

    @property
    def synchronization(self):
        return self._synchronization

    @property
    def aggregation(self):
        return self._aggregation

    @property
    def _shared_name(self):
        return self._variable.op.name

    def set_shape(self, shape):
        """Adds what is known about the shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    # -- reading ------------------------------------------------------------------------------------

    @property
    def handle(self):
        """The storage: what the functions of op types that assign take (`tf.raw_ops.ResourceApplyAdam` ...)."""
        return self._variable

    def value(self):
        """Returns the tensor `w/read`: the value before this run's assignments, or the turn's in a loop that assigns it."""
        graph = get_default_graph()
        if graph.outer_graph is not None:
            graph.note_read(self._snapshot, self._variable)
        return self._snapshot

    def read_value(self):
        """Returns a read of its own, which takes its turn among control dependencies."""
        return identity(self._variable, name="read")

    def _as_tensor(self):
        """Returns what an expression reads: `w/read`, or a read of its own where the control dependencies in force wait for
        an assignment of this variable. (In TF1 `w/read` there showed the old value or the new one, by chance.)"""
        graph = get_default_graph()
        if (graph.frame.controls or graph.outer_graph is not None) and _waits_for_assignment(graph, self):
            return identity(self._variable, name=f"{self.op.name}/read_after/" if graph is self._graph else "read")
        return self.value()

    def is_initialized(self, name=None):
        """Returns a bool scalar: whether the variable has a value."""
        return state.isinitialized_op(self._variable, name=name)

    def initialized_value(self):
        """Returns the value, or the initial value while the variable has none: for variables that start like this one."""
        with init_scope():
            return initializedvalue_op(self._variable, self._start, name="initialized_value")

    def eval(self, session=None):
        """Returns the value as a NumPy array, in `session` or the default session."""
        return self._variable.eval(session=session)

    def __bool__(self):
        return True  # as in TF1, where `if bias:` asks whether there is a variable

    def _as_graph_element(self):
        return self._variable

    def _gradient_handle(self):
        return self._variable

    def _ref(self):
        return self._variable

    # -- writing ------------------------------------------------------------------------------------

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Returns a tensor of the new value, whose computing makes it the variable's; its operation without `read_value`."""
        return _written(state.assign_op(self._variable, value, use_locking=use_locking, name=name), read_value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Returns a tensor of the variable plus `delta`, whose computing makes it the variable's value."""
        return _written(state.assignadd_op(self._variable, delta, use_locking=use_locking, name=name), read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Returns a tensor of the variable minus `delta`, whose computing makes it the variable's value."""
        return _written(state.assignsub_op(self._variable, delta, use_locking=use_locking, name=name), read_value)

    def _scatter(self, op, slices, use_locking, name):
        if not (hasattr(slices, "values") and hasattr(slices, "indices")):
            raise TypeError(f"sparse_delta is not IndexedSlices: {slices}")
        return op(self._variable, slices.indices, slices.values, use_locking=use_locking, name=name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows `indices` replaced by `values` of an IndexedSlices; assigns it."""
        return self._scatter(state.scatterupdate_op, sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with `values` added at rows `indices`, repeated ones included; assigns it."""
        return self._scatter(state.scatteradd_op, sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with `values` subtracted at rows `indices`, repeated ones included; assigns it."""
        return self._scatter(state.scattersub_op, sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows `indices` multiplied by `values`; assigns it."""
        return self._scatter(state.scattermul_op, sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows `indices` divided by `values`; assigns it."""
        return self._scatter(state.scatterdiv_op, sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows `indices` raised to `values` where those are larger; assigns it."""
        return self._scatter(state.scattermax_op, sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows `indices` lowered to `values` where those are smaller; assigns it."""
        return self._scatter(state.scattermin_op, sparse_delta, use_locking, name)

    def scatter_nd_update(self, indices, updates, name=None):
        """Returns the variable with the elements or slices at `indices` replaced by `updates`; assigns it."""
        return indexing.scatter_nd_update(self, indices, updates, name=name)

    def scatter_nd_add(self, indices, updates, name=None):
        """Returns the variable with `updates` added at `indices`, repeated ones included; assigns it."""
        return indexing.scatter_nd_add(self, indices, updates, name=name)

    def scatter_nd_sub(self, indices, updates, name=None):
        """Returns the variable with `updates` subtracted at `indices`, repeated ones included; assigns it."""
        return indexing.scatter_nd_sub(self, indices, updates, name=name)

    def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
        """Returns the variable with rows of each batch item replaced by an IndexedSlices; assigns it."""
        return assigning.batch_scatter_update(self, sparse_delta.indices, sparse_delta.values, name=name)

    def gather_nd(self, indices, name=None):
        """Returns elements or slices of the value."""
        return indexing.gather_nd(self, indices, name=name)

    def sparse_read(self, indices, name=None):
        """Returns rows of the value."""
        return indexing.gather(self, indices, name=name)

    def count_up_to(self, limit):
        """Returns the value of an integer scalar and adds 1 to it; OutOfRangeError once it has reached `limit`."""
        return assigning.count_up_to(self, limit)

    def load(self, value, session=None):
        """Gives the variable a new value in `session` (or the default session) without adding to the graph."""
        session = session or context.get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        start = self._initializer_op.inputs[1]
        given = np.shape(value)
        if not compatible(given, start.dims):
            raise ValueError(f"Cannot load a value of shape {given} into variable {self.name}, which has shape "
                             f"{self.shape}; made at {self.op.location}.")
        session.run(self._initializer_op, {start: value})

    # -- Python's side ---------------------------------------------------------------------------------

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


VariableV1 = RefVariable = Variable
operators.overload_all(Variable, Variable._as_tensor)


def _to_tensor(variable, dtype=None, name=None, as_ref=False):
    if dtype is not None and dtype is not variable.dtype:
        raise ValueError(f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                         f"'{variable.dtype.name}': {variable.name}; tf.cast converts.")
    return variable._variable if as_ref else variable._as_tensor()


register_tensor_conversion_function(Variable, _to_tensor)


# -- reading after an assignment -------------------------------------------------------------------------
def _waits_for_assignment(graph, variable):
    """True when an op made now in `graph` would run after an op that assigns `variable`."""
    storage = variable._variable
    if not isinstance(graph, FuncGraph) and not any(op is not variable.initializer and may_assign(op)
                                                    for op in storage._consumers or ()):
        return False
    # A branch or loop waits for what the blocks around it wait for.
    return any(storage.op in _assigned_before(controller) for g in graph.outwards() for controller in g.frame.controls)


def _assigned_before(controller):
    """Returns the variable ops assigned by the ops that a control_dependencies block waits for; found once per block."""
    found = controller.__dict__.get("_assigned")
    if found is None:
        found = controller._assigned = assigned_before(controller.ops)
    return found


# -- starting from another variable ---------------------------------------------------------------------
def _initialized_value_infer(ref, value):
    return Spec(merge(ref.dims, value.dims), ref.dtype)


initializedvalue_op = define_op("InitializedValue", "ref: T, value: T", infer=_initialized_value_infer, stateful=True,
                                host=True, lower=lambda b, ref, value: value if ref is None else ref)
initializedvalue_op.declare(uninitialized_ok=True)


@RegisterGradient("InitializedValue")
def _initializedvalue_grad(op, dy):
    # In a run that differentiates, the variable has its value.
    return dy, None


def _independent(value, name):
    """Returns `value`, recomputed from initialised values where it is computed from other variables.

    So `tf.Variable(2 * w)` can be initialised in the same run as `w`, whatever the order.
    """
    order, stack, seen = [], [value.op], {value.op}
    tainted = set()
    while stack:
        op = stack.pop()
        order.append(op)
        if op.opdef.variable:
            tainted.add(op)
        elif op.opdef is not initializedvalue_op and op.opdef is not state.isinitialized_op:
            for t in op.inputs:
                if t.op not in seen:
                    seen.add(t.op)
                    stack.append(t.op)
    if not tainted:
        return value
    graph = value.graph
    owners = {v.op: v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
              + graph.get_collection(GraphKeys.LOCAL_VARIABLES) if hasattr(v, "initialized_value")}
    replaced = {}
    for op in sorted(order, key=lambda op: op.id):
        if op in tainted:
            if op in owners:
                replaced[op.outputs[0]] = owners[op].initialized_value()
        elif any(t in replaced for t in op.inputs):
            copy = graph._add(op.opdef, tuple(replaced.get(t, t) for t in op.inputs), op.attrs, f"{op.name}_{name}/", op.groups,
                              [Spec(t.dims, t.dtype) for t in op.outputs])
            replaced.update(zip(op.outputs, copy.outputs))
    return replaced.get(value, value)


def is_variable(x):
    """Returns whether `x` is a variable of any kind."""
    return isinstance(x, Variable)
