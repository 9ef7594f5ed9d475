"""What to do where a gradient ends, in words, by op type."""

_ROUNDING = {"Round": "tf.round", "Rint": "tf.rint", "Floor": "tf.floor", "Ceil": "tf.ceil", "Sign": "tf.sign"}
_DIVISION = ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod")
_CHOICE = ("ArgMax", "ArgMin", "TopK", "TopKV2", "Unique", "Where", "InTopK", "InTopKV2", "Bucketize")
_COMPARISON = ("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
               "LogicalNot", "ApproximateEqual", "IsNan", "IsInf", "IsFinite", "All", "Any")
_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")
_HOST = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_RANDOM = ("Multinomial", "RandomPoissonV2", "StatelessMultinomial")


def cure_for(op, shape_only=False):
    """Returns words on how to get a gradient through `op`, at which it ends; shape_only: for an input's shape alone."""
    kind = op.type
    if kind in _ROUNDING:
        return (f"it is flat between its steps: use tf.straight_through({_ROUNDING[kind]}), or "
                f"overrides={{'{kind}': rules.surrogate()}}")
    if kind in _DIVISION:
        return f"it is flat between its steps: use tf.divide (/), or overrides={{'{kind}': rule}} with a derivative of your own"
    if kind == "Cast":
        return ("integers carry no gradient: keep the value floating (tf.straight_through(tf.floor) where it is to be whole), "
                "or declare one with tf.bridge")
    if kind in _CHOICE:
        return "an index carries no gradient: use a soft choice (tf.nn.softmax), or declare a derivative with tf.bridge"
    if kind in _COMPARISON:
        return "a truth value carries no gradient: use a smooth step (tf.sigmoid), tf.spike(x), or declare one with tf.bridge"
    if shape_only or kind in _SHAPES:
        return "only shape and dtype of its input matter to it: no gradient belongs here"
    if kind in _HOST and op.forward_op is not None:
        return ("give the host function's derivative, tf.host_gradient(f, grad=...) or tf.py_func(..., grad=rule); "
                "grad=rules.stop() says that it counts as constant")
    if kind in _HOST:
        return f"Python code has no derivative: give tf.py_func(..., grad=rule), or overrides={{'{kind}': rule}}"
    if kind in ("While", "If", "Case"):
        return "what decides on turns or branches has no derivative: let it enter what is computed, too"
    if kind in ("Assign", "AssignVariableOp"):
        return "what is assigned takes its place: differentiate by that, or use the variable itself"
    if kind in _RANDOM:
        return "a draw has no derivative: use a reparametrised draw, or the score function (log-probability times return)"
    if kind in ("StopGradient", "PreventGradient"):
        return f"it is there to stop the gradient: take it out, or overrides={{'{kind}': lambda op, dy: dy}}"
    return f"give it a rule: @tf.RegisterGradient(...) with overrides={{'{kind}': rule}}"
