"""TensorFlow's helpers for decorated functions, as far as programs use them; notices of deprecation are left out."""

import functools
import inspect


def tf_export(*_names, **_options):
    """Decorator that changes nothing; TensorFlow's marks a public name."""
    return lambda function: function


keras_export = estimator_export = tf_export
deprecated = deprecated_alias = deprecated_args = deprecated_arg_values = deprecated_endpoints = tf_export
add_notice_to_docstring = tf_export


def should_use_result(function=None, **_options):
    """Decorator that changes nothing; TensorFlow's warns of results that are not used."""
    return function if function is not None else lambda f: f


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """Returns the value given by either name; ValueError when both are given."""
    if old_value is not None and new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return new_value if old_value is None else old_value


def keyword_args_only(function):
    """Decorator: positional arguments are a ValueError."""

    @functools.wraps(function)
    def decorated(*args, **kwargs):
        if args:
            raise ValueError(f"The function {function.__name__} only accepts keyword arguments. Do not pass positional "
                             f"arguments: {args}")
        return function(**kwargs)

    return decorated


def make_decorator(target, decorator_func, *_args, **_kwargs):
    """Returns `decorator_func` with the name and documentation of `target`."""
    return functools.wraps(target)(decorator_func)


def unwrap(function):
    """Returns (the decorators, the innermost function)."""
    return [], inspect.unwrap(function)


def fn_args(fn):
    """Returns the names of a callable's arguments, without a bound `self`."""
    while isinstance(fn, functools.partial):
        bound = set(fn.keywords)
        return tuple(a for a in fn_args(fn.func)[len(fn.args):] if a not in bound)
    if not inspect.isroutine(fn) and not inspect.isclass(fn) and hasattr(fn, "__call__"):  # noqa: B004
        fn = fn.__call__
    return tuple(inspect.signature(fn).parameters)


def has_kwargs(fn):
    """True when a callable takes arbitrary keyword arguments."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())


def get_func_name(func):
    """Returns a callable's name."""
    return func.__name__ if hasattr(func, "__name__") else type(func).__name__


def get_func_code(func):
    """Returns a function's code object, or None."""
    return getattr(inspect.unwrap(func), "__code__", None)
