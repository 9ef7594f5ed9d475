"""Symbolic: what tensors and variables share, that they have no value while a graph is built.

Whoever reads one as a number, an array or a list, or changes a part of it, is told here what to do instead. NumPy's and
later libraries' names for methods are known by the function that does the same.
"""

_VALUES = ("item", "numpy", "tolist")  # what gives the value, elsewhere
_INSTEAD = {
    **dict.fromkeys(("grad", "gradient"), "tf.gradients(y, x), a tensor to be run"),
    **dict.fromkeys(("requires_grad", "requires_grad_", "retain_grad", "zero_grad", "is_leaf", "grad_fn"),
                    "tf.gradients(y, x): it differentiates by whatever it is given, and keeps nothing between runs"),
    **dict.fromkeys(("cpu", "cuda", "to", "data", "block_until_ready", "contiguous"), "it as it is: XLA places what runs"),
    **dict.fromkeys(("float", "half", "double", "long", "int", "bool", "type"), "tf.cast(x, dtype)"),
    "register_hook": "tf.gradients(y, xs, overrides={x.op: rule}), or a block such as tf.clip_gradient(x, 1.0)",
    "detach_": "tf.stop_gradient(x)", "clone": "tf.identity(x)", "unsqueeze": "tf.expand_dims(x, axis)",
    "permute": "tf.transpose(x, perm)", "repeat": "tf.tile(x, multiples)", "expand": "tf.broadcast_to(x, shape)",
    "matmul": "tf.matmul(x, y)", "mm": "tf.matmul(x, y)", "norm": "tf.norm(x)", "clamp": "tf.clip_by_value(x, low, high)",
    "numel": "tf.size(x)", "nelement": "tf.size(x)", "nonzero": "tf.where(x)", "exp": "tf.exp(x)", "log": "tf.log(x)",
    "abs": "tf.abs(x)", "sqrt": "tf.sqrt(x)", "pow": "tf.pow(x, y)", "round": "tf.round(x)", "softmax": "tf.nn.softmax(x)",
    "sigmoid": "tf.sigmoid(x)", "tanh": "tf.tanh(x)", "relu": "tf.nn.relu(x)", "add_": "tf.assign_add(v, x) of a variable",
    "zero_": "tf.assign(v, x) of a variable", "copy_": "tf.assign(v, x) of a variable", "at": "tf.tensor_scatter_nd_update",
    "T": "tf.transpose(x)", "all": "tf.reduce_all(x, axis)", "any": "tf.reduce_any(x, axis)", "argmax": "tf.argmax(x, axis)",
    "argmin": "tf.argmin(x, axis)", "astype": "tf.cast(x, dtype)", "backward": "tf.gradients(y, xs)",
    "clip": "tf.clip_by_value(x, low, high)", "copy": "tf.identity(x)", "cumsum": "tf.cumsum(x, axis)",
    "detach": "tf.stop_gradient(x)", "dot": "tf.matmul(x, y) or tf.tensordot(x, y, 1)", "flatten": "tf.reshape(x, [-1])",
    "max": "tf.reduce_max(x, axis)", "mean": "tf.reduce_mean(x, axis)",
    "min": "tf.reduce_min(x, axis)", "ndim": "x.shape.ndims", "prod": "tf.reduce_prod(x, axis)",
    "ravel": "tf.reshape(x, [-1])", "reshape": "tf.reshape(x, shape)", "size": "tf.size(x)",
    "squeeze": "tf.squeeze(x, axis)", "std": "tf.reduce_std(x, axis)", "sum": "tf.reduce_sum(x, axis)",
    "transpose": "tf.transpose(x, perm)", "view": "tf.reshape(x, shape) or tf.bitcast(x, dtype)",
}


def _to_run(x):
    """Returns words on how the value of `x` is had, with the placeholders that it needs."""
    from regrad.core.traversal import needed

    graph, name = x.op.graph, x.op.name.rpartition("/")[2]
    if graph.outer_graph is not None:
        return (f"it belongs to the inside of a function, {graph.name!r}, and has a value each time that is run: let the "
                "function return it, and run what comes out")
    if x.op.type == "Placeholder":
        return f"it is a placeholder, and its value is the one that you feed: sess.run(..., feed_dict={{{name}: value}})"
    fed = sorted((op for op in needed([x.op]) if op.type == "Placeholder"), key=lambda op: op.id)
    if not fed:
        return f"sess.run({name}) gives it"
    feeds = ", ".join(f"{op.name}: value" for op in fed[:3]) + (", ..." if len(fed) > 3 else "")
    words = f"placeholder{'s' * (len(fed) > 1)} {', '.join(repr(op.name) for op in fed[:3])}"
    return f"sess.run({name}, feed_dict={{{feeds}}}) gives it for values of the {words}"


class Reference:
    """What `x.experimental_ref()` gives: equal for the same tensor or variable, for dictionaries and sets; `deref()` is it."""

    __slots__ = ("_referred",)

    def __init__(self, referred):
        self._referred = referred

    def deref(self):
        return self._referred

    def __eq__(self, other):
        return isinstance(other, Reference) and self._referred is other._referred

    def __hash__(self):
        return id(self._referred)

    def __repr__(self):
        return f"<Reference to {self._referred!r}>"


class Symbolic:
    """Base of Tensor and Variable. Both have `name`, `shape`, `dtype` and `op`."""

    __slots__ = ()

    def _no_value(self, what):
        """Returns the TypeError for `what`, a use that needs the value."""
        return TypeError(f"{what}: {self.name} has no value until it is run; {_to_run(self)}. Made at {self.op.location}.")

    def experimental_ref(self):
        """Returns a key that is equal for this tensor or variable only; later versions call the method `ref`."""
        return Reference(self)

    ref = experimental_ref

    def __getattr__(self, name):
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in _VALUES:
            text += f" ({self.name}, made at {self.op.location}); {_to_run(self)}"
        elif name in _INSTEAD:
            text += f" ({self.name}, made at {self.op.location}); use {_INSTEAD[name]}"
        raise AttributeError(text, name=name, obj=self)

    def __bool__(self):
        raise TypeError(
            f"Using a `tf.Tensor` as a Python `bool` is not allowed: {self.name} has no value until it is run. "
            "Use `if t is not None:` to test whether a tensor is defined, tf.cond for a choice that the graph "
            f"makes, or session.run for the value. Made at {self.op.location}."
        )

    __nonzero__ = __bool__

    def __int__(self):
        raise self._no_value("int() takes a number, not a tensor")

    def __float__(self):
        raise self._no_value("float() takes a number, not a tensor")

    def __complex__(self):
        raise self._no_value("complex() takes a number, not a tensor")

    def __index__(self):
        raise self._no_value("A tensor cannot be interpreted as an integer (a list's index, a range, a size)")

    def __contains__(self, item):
        raise TypeError(f"`in` cannot look into {self.name}, which has no value until it is run; "
                        f"tf.reduce_any(tf.equal(x, item)) is a tensor that says so. Made at {self.op.location}.")

    def __setitem__(self, key, value):
        raise TypeError(f"{type(self).__name__!r} object does not support item assignment: the graph holds {self.name} as it "
                        "is. Make a new tensor with tf.where, tf.concat or tf.tensor_scatter_nd_update; of a variable, "
                        f"tf.scatter_update(v, indices, rows) assigns rows. Made at {self.op.location}.")

    def __format__(self, spec):
        if spec:
            raise self._no_value(f"A tensor cannot be written as {spec!r}")
        return str(self)

    def __array__(self, *args, **kwargs):
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a NumPy array: NumPy works on values, and a tensor has none "
            "until it is run. Use the function of tf that does the same (tf.sin for np.sin), or run it in a session first; "
            "NumPy code goes into tf.py_func, whose function is given arrays, builds no tensors and returns arrays. "
            f"Made at {self.op.location}.")
