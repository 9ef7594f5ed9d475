"""Layer: a function with variables of its own, made when it is first called."""

import copy
import inspect
import re

from regrad.core import nest
from regrad.core.arguments import bound, unexpected
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, float32
from regrad.core.errors import nearest
from regrad.core.graph import Graph, get_default_graph, is_tensor
from regrad.core.graph_keys import GraphKeys
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import TensorShape, as_int
from regrad.core.shown import Shown
from regrad.ops.array import shape
from regrad.ops.math import cast
from regrad.variables.lifting import root_graph
from regrad.variables.listing import global_variables
from regrad.variables.scope import VariableScope, get_variable, trainable_when, variable_scope


class InputSpec(Shown):
    """What a layer asks of an input.

    Attributes:
      ndim, min_ndim, max_ndim: number of axes.
      axes: {axis: size}.
      dtype, shape: exact requirements.
    """

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
        self.dtype = dtype
        self.shape = None if shape is None else TensorShape(shape)
        self.ndim = len(self.shape) if shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = axes or {}

    def check(self, tensor, name):
        """Raises ValueError unless `tensor` is what is asked for."""
        dims = tensor.dims
        start = f"Input 0 of layer {name} is incompatible with the layer:"
        if self.dtype is not None and tensor.dtype is not as_dtype(self.dtype):
            raise ValueError(f"{start} expected dtype={self.dtype}, found dtype={tensor.dtype.name}")
        if dims is None:
            if self.ndim is not None or self.min_ndim is not None or self.max_ndim is not None or self.axes:
                raise ValueError(f"{start} its rank is undefined, but the layer requires a defined rank."
                                 f" Where {tensor.name} has a known shape, x.set_shape(...) says so.")
            return
        n, found = len(dims), f"found ndim={len(dims)}. Full shape received: {list(dims)}"
        if self.ndim is not None and n != self.ndim:
            raise ValueError(f"{start} expected ndim={self.ndim}, {found}")
        if self.max_ndim is not None and n > self.max_ndim:
            raise ValueError(f"{start} expected max_ndim={self.max_ndim}, {found}")
        if self.min_ndim is not None and n < self.min_ndim:
            raise ValueError(f"{start} expected min_ndim={self.min_ndim}, {found}")
        for axis, size in self.axes.items():
            if size is not None and dims[axis] not in (size, None):
                raise ValueError(f"{start} expected axis {axis} of input shape to have value {size} but received input with "
                                 f"shape {list(dims)}")
        if self.shape is not None and not self.shape.is_compatible_with(tensor.shape):
            raise ValueError(f"{start} expected shape={self.shape}, found shape={tensor.shape}")


class Layer(Shown):
    """Base class. A subclass makes its variables in `build(input_shape)` by `add_weight`, and computes in `call(inputs)`.

    Calling the layer again uses the same variables. Its variables are named "<scope>/<name>", where the scope is the
    layer's name, made unique when it was not given.

    Attributes:
      name, scope_name: the layer's name and its variable scope's.
      trainable: whether its variables join TRAINABLE_VARIABLES.
      built: whether the variables exist.
      weights, variables, trainable_weights, trainable_variables, non_trainable_weights: lists of variables, those of layers
        that are attributes of this one included.
      losses, updates: what regularizers and running statistics added, likewise.
      input, output: tensors of the last call.
    """

    def __init__(self, trainable=True, name=None, dtype=None, activity_regularizer=None, _scope=None, _reuse=None, **unknown):
        """Args:
        name: the layer's name; from the class's name by default.
        dtype: DType of the variables; that of the first input by default.
        activity_regularizer: function of the output whose result joins REGULARIZATION_LOSSES.
        """
        if unknown:
            raise unexpected(type(self), unknown)
        self.trainable = trainable
        self.built = False
        self.input_spec = None
        self._losses, self._updates = [], []
        self._of_inputs = []  # losses that depend on inputs
        self.input = self.output = None
        self._activity_regularizer = activity_regularizer
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._trainable_weights, self._non_trainable_weights = [], []
        self._reuse = _reuse
        self._base_name = name or _snake_case(type(self).__name__)
        self._name = name or _unique_name(self._base_name)
        self._scope = self._graph = None
        if _scope:
            with variable_scope(_scope) as scope:
                self._scope = scope

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    graph = property(lambda self: self._graph)
    weights = property(lambda self: self._trainable_weights + self._non_trainable_weights + self._of_parts("weights"))
    variables = property(lambda self: self.weights)
    trainable_weights = property(
        lambda self: self._trainable_weights + self._of_parts("trainable_weights") if self.trainable else [])
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_weights = property(
        lambda self: self._non_trainable_weights + self._of_parts("non_trainable_weights") if self.trainable else self.weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    losses = property(lambda self: self._losses + self._of_parts("losses"))
    updates = property(lambda self: self._updates + self._of_parts("updates"))
    activity_regularizer = property(lambda self: self._activity_regularizer)
    input_shape = property(lambda self: nest.map_structure(lambda t: t.shape, self.input))
    output_shape = property(lambda self: nest.map_structure(lambda t: t.shape, self.output))

    def _layers_within(self):
        """Returns the layers that are attributes of this one, alone or in lists and dictionaries."""
        parts = {}
        for value in vars(self).values():
            values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
            parts.update((part, None) for part in values if isinstance(part, Layer) and part is not self)
        return list(parts)

    def _of_parts(self, attribute):
        """Returns, joined, the lists that the layers have which are attributes of this one."""
        return list(dict.fromkeys(x for part in self._layers_within() for x in getattr(part, attribute)))

    @property
    def scope_name(self):
        if self._scope is None:
            raise ValueError(f'No name available for layer scope because the layer "{self._name}" has not been used yet. The '
                             "scope name is determined the first time the layer instance is called. You must therefore call "
                             "the layer before querying `scope_name`.")
        return self._scope.name

    # -- what subclasses give -------------------------------------------------------------------------

    def build(self, input_shape):
        """Makes the variables; `input_shape` is a TensorShape (or the structure of them)."""
        self.built = True

    def call(self, inputs, *args, **kwargs):
        """Returns the outputs."""
        return inputs

    def compute_output_shape(self, input_shape):
        """Returns the shape of the output for a shape of the input."""
        raise NotImplementedError

    # -- calling ------------------------------------------------------------------------------------------

    def __call__(self, inputs, *args, scope=None, **kwargs):
        """Returns `call(inputs, ...)`, after making the variables if this is the first time."""
        inputs = nest.map_structure(lambda x: x if isinstance(x, Tensor) else convert_to_tensor(x), inputs)
        tensors = nest.flatten(inputs)
        graph = get_default_graph()
        if tensors and tensors[0].graph is not graph and graph.outer_graph is None:
            graph = tensors[0].graph
        with graph.as_default():
            self._set_scope(scope)
            if self.built and self._graph not in (None, root_graph(graph)):
                raise ValueError(f"Input graph and Layer graph are not the same: {tensors[0] if tensors else graph} is not "
                                 f"from the graph of layer {self._name}. A layer stays in the graph of its variables.")
            self._graph = root_graph(graph)
            reuse = True if self.built else self._reuse
            with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as inner:
                with graph.name_scope(inner.original_name_scope):
                    self._build_for(inputs, tensors)
                    outputs = self.call(inputs, *args, **kwargs)
                    if self._activity_regularizer is not None:
                        with graph.name_scope("ActivityRegularizer"):
                            self._add_activity_losses(inputs, outputs)
        self.input, self.output = inputs, outputs
        return outputs

    def _build_for(self, inputs, tensors):
        """Checks the inputs, and makes the variables if this is the first time."""
        self._check_inputs(tensors)
        if not self.built:
            if self._dtype is None:
                self._dtype = self._dtype_for(tensors)
            self.build(nest.map_structure(lambda t: t.shape, inputs))
            self.built = True
            self._check_inputs(tensors)  # of what `build` asks

    def _dtype_for(self, tensors):
        return tensors[0].dtype if tensors else float32

    def _add_activity_losses(self, inputs, outputs):
        """Adds the losses that the outputs cause, as Keras takes them: the means over the batch."""
        for out in nest.flatten(outputs):
            loss = self._activity_regularizer(out)
            self.add_loss(loss / cast(shape(out)[0], loss.dtype), inputs=inputs)

    def apply(self, inputs, *args, **kwargs):
        """Calls the layer."""
        return self(inputs, *args, **kwargs)

    def __deepcopy__(self, memo):
        """Returns a layer with attributes of its own; parts of graphs, of which there is one each, are shared."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for part in nest.flatten(list(vars(self).values())):
            if isinstance(part, (Graph, Operation)) or is_tensor(part):
                memo[id(part)] = part
            elif isinstance(part, VariableScope):
                memo[id(part)] = copy.copy(part)
        vars(result).update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
        return result

    def _set_scope(self, scope=None):
        if self._scope is None:
            if self._reuse:
                with variable_scope(scope if scope is not None else self._base_name) as found:
                    self._scope = found
            else:
                with variable_scope(scope, default_name=self._base_name) as found:
                    self._scope = found

    def _check_inputs(self, tensors):
        if self.input_spec is None:
            return
        specs = self.input_spec if isinstance(self.input_spec, (list, tuple)) else [self.input_spec]
        if len(specs) != len(tensors):
            raise ValueError(f"Layer {self._name} expects {len(specs)} inputs, but it received {len(tensors)}.")
        for spec, t in zip(specs, tensors):
            spec.check(t, self._name)

    # -- variables, losses, updates --------------------------------------------------------------------------

    def add_weight(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                   use_resource=None, synchronization=None, aggregation=None, partitioner=None, **kwargs):
        """Returns a variable of this layer.

        Args:
          name, shape, initializer, constraint, partitioner: as for `get_variable`; an initializer also by Keras's name.
          dtype: the layer's by default.
          regularizer: function of the variable; the loss joins REGULARIZATION_LOSSES when the variable is new.
          trainable: whether it is, in a layer that is; by default unless `synchronization` is ON_READ.
        """
        if isinstance(initializer, str):
            from regrad.keras import initializers

            initializer = initializers.get(initializer)
        trainable = trainable_when(synchronization, trainable, name)
        before = set(global_variables())
        self._set_scope()
        self._dtype = self._dtype or float32  # `build` may be called on its own, before any input
        with variable_scope(self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False) as scope:
            graph = get_default_graph()
            variable = get_variable(name, shape=shape, dtype=dtype or self._dtype,
                                    initializer=scope.initializer if initializer is None else initializer,
                                    trainable=trainable and self.trainable, constraint=constraint,
                                    partitioner=partitioner, synchronization=synchronization, aggregation=aggregation)
            new = [v for v in (variable if hasattr(variable, "as_tensor") else [variable]) if v not in before]
            if regularizer is not None and new:
                with graph.name_scope(scope.original_name_scope), graph.name_scope(f"{name}/Regularizer"):
                    for v in new:
                        self.add_loss(regularizer(v))
        # A getter of the scope has the last word: it may give a tensor, which is made of variables and is none itself.
        # Whether the layer is trained counts when its variables are asked for.
        if self.trainable:
            parts = variable if hasattr(variable, "as_tensor") else [variable]
            trainable = all(getattr(v, "trainable", False) for v in parts)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

    def add_loss(self, losses, inputs=None):
        """Adds losses, or functions that make them, to `losses` and to the collection REGULARIZATION_LOSSES; None is left out.
        """
        for loss in nest.flatten(losses):
            if loss is not None:
                self._losses.append(loss() if callable(loss) else loss)
                if inputs is not None:
                    self._of_inputs.append(self._losses[-1])
                self._add_to_collection(GraphKeys.REGULARIZATION_LOSSES, self._losses[-1])

    def add_update(self, updates, inputs=None):
        """Adds operations to `updates` and to the collection UPDATE_OPS, unless the layer is not trainable."""
        if self.trainable:
            for update in nest.flatten(updates):
                self._updates.append(getattr(update, "op", update))
                self._add_to_collection(GraphKeys.UPDATE_OPS, self._updates[-1])

    def _add_to_collection(self, key, item):
        get_default_graph().add_to_collection(key, item)

    def count_params(self):
        """Returns the number of elements of all variables; ValueError before they exist."""
        if not self.built:
            raise ValueError(f"You tried to call `count_params` on {self._name}, but the layer isn't built. You can build it "
                             f"manually via: `{self._name}.build(batch_input_shape)`.")
        return count_elements(self.weights)

    def get_weights(self):
        """Returns the values of all variables in the default session, arrays."""
        from regrad.keras import backend

        return backend.batch_get_value(self.weights) if self.weights else []

    def set_weights(self, weights):
        """Gives all variables values in the default session.

        Raises:
          ValueError: another number of arrays, or one of another shape.
        """
        from regrad.keras import backend

        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of length '
                             f"{len(weights)}, but the layer was expecting {len(variables)} weights.")
        backend.batch_set_value(list(zip(variables, weights)))

    def get_updates_for(self, inputs):
        return self.updates

    def get_losses_for(self, inputs):
        """Returns the losses that depend on inputs, or, for None, those that depend on none."""
        return [loss for loss in self.losses if any(loss is x for x in self._of_inputs) == (inputs is not None)]


def count_elements(variables):
    """Returns how many numbers variables hold together."""
    return sum(v.shape.num_elements() for v in variables)


def _snake_case(name):
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return name if name[0] != "_" else "private" + name


def _unique_name(base):
    """Returns base_1 for the first layer of that class in the graph, then base_2 ...; scopes count for themselves."""
    counts = root_graph().__dict__.setdefault("_layer_names", {})
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def normalize(value, n, name):
    """Returns an int or a sequence of n ints as a tuple of n; ValueError for anything else."""
    if isinstance(value, int):
        return (value,) * n
    try:
        value = tuple(as_int(v, name) for v in value)
    except (TypeError, ValueError):
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}") from None
    if len(value) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return value


def hard_sigmoid(x):
    """Returns 0.2 x + 0.5, kept between 0 and 1."""
    from regrad import nn

    return nn.relu6(x * 1.2 + 3.0) / 6.0


def activation_of(given):
    """Returns the activation that is given as a function, or by Keras's name for it; None for None.

    Raises:
      ValueError: there is none of that name.
      TypeError: it is neither.
    """
    if given is None or callable(given):
        return given
    if not isinstance(given, str):
        raise TypeError(f"activation must be a function of a tensor, such as tf.nn.relu, or its name, got {given!r}.")
    from regrad import nn
    from regrad.ops.math import exp

    known = {name: getattr(nn, name) for name in "elu relu selu sigmoid softmax softplus softsign tanh".split()}
    known |= {"exponential": exp, "hard_sigmoid": hard_sigmoid, "linear": None}
    if given not in known:
        from regrad.keras.utils import custom_object

        found = custom_object(given)
        if found is not None:
            return found
        raise ValueError(f"Unknown activation function: {given!r}{nearest(given, known)}")
    return known[given]


def functional(layer_class, name, reuse=True):
    """Returns the function form of a layer class: it makes a layer with the given arguments and calls it once.

    Its arguments are `inputs`, those of the class, and `reuse` (share the variables of an earlier layer called `name`).
    """
    parameters = [p for p in inspect.signature(layer_class).parameters.values() if p.kind is not p.VAR_KEYWORD]
    first = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    last = [inspect.Parameter("reuse", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)] if reuse else []
    signature = inspect.Signature([first, *parameters, *last])

    def function(*args, **kwargs):
        arguments = bound(function, signature, args, kwargs)
        return call_once(layer_class, arguments.pop("inputs"), arguments.pop("reuse", None), arguments)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature
    function.__doc__ = f"Makes a `{layer_class.__name__}` layer and returns its output.\n\n{layer_class.__doc__}"
    return function


def call_once(layer_class, inputs, reuse, arguments, **call_arguments):
    """Makes a layer in the variable scope of its name and returns its output."""
    inputs = convert_to_tensor(inputs)
    layer = layer_class(**arguments, dtype=inputs.dtype, _scope=arguments.get("name"), _reuse=reuse)
    return layer(inputs, **call_arguments)
