"""The import hook and the table of TensorFlow's modules.

A module's names are looked for, in this order: its own entry in `EXTRAS`, the Regrad module it stands for, the public
names of `regrad`, and, in the `gen_*_ops` modules and `raw_ops`, the op types themselves.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types

# TensorFlow's module -> the Regrad module whose names it offers first ("" for none in particular).
MODULES = {
    "tensorflow": "regrad",
    "tensorflow.compat": "",
    "tensorflow.compat.v1": "regrad",
    "tensorflow.python": "regrad",
    "tensorflow.python.framework": "",
    "tensorflow.python.framework.ops": "regrad.framework",
    "tensorflow.python.framework.dtypes": "regrad.core.dtypes",
    "tensorflow.python.framework.errors": "regrad.core.errors",
    "tensorflow.python.framework.errors_impl": "regrad.core.errors",
    "tensorflow.python.framework.tensor_shape": "regrad.core.shapes",
    "tensorflow.python.framework.tensor_util": "regrad.core.constants",
    "tensorflow.python.framework.constant_op": "regrad.core.convert",
    "tensorflow.python.framework.random_seed": "regrad.framework",
    "tensorflow.python.framework.function": "",
    "tensorflow.python.framework.common_shapes": "",
    "tensorflow.python.framework.graph_util": "",
    "tensorflow.python.framework.test_util": "",
    "tensorflow.python.client": "",
    "tensorflow.python.client.session": "regrad.runtime.session",
    "tensorflow.python.client.device_lib": "",
    "tensorflow.python.client.timeline": "",
    "tensorflow.python.ops": "",
    "tensorflow.python.ops.array_ops": "regrad.ops.array",
    "tensorflow.python.ops.array_grad": "regrad.ops.array_grad",
    "tensorflow.python.ops.math_ops": "regrad.ops.math",
    "tensorflow.python.ops.math_grad": "regrad.ops.math_grad",
    "tensorflow.python.ops.nn": "regrad.nn",
    "tensorflow.python.ops.nn_ops": "regrad.nn",
    "tensorflow.python.ops.nn_impl": "regrad.nn",
    "tensorflow.python.ops.nn_grad": "regrad.ops.nn_grad",
    "tensorflow.python.ops.control_flow_ops": "regrad.ops.control",
    "tensorflow.python.ops.tensor_array_ops": "",
    "tensorflow.python.ops.functional_ops": "",
    "tensorflow.python.ops.gradients": "regrad.autodiff.gradients",
    "tensorflow.python.ops.gradients_impl": "regrad.autodiff.gradients",
    "tensorflow.python.ops.gradients_util": "regrad.autodiff.gradients",
    "tensorflow.python.ops.custom_gradient": "",
    "tensorflow.python.ops.script_ops": "regrad.ops.script",
    "tensorflow.python.ops.state_ops": "regrad.ops.state",
    "tensorflow.python.ops.variables": "regrad.variables.variable",
    "tensorflow.python.ops.variable_scope": "regrad.variables.scope",
    "tensorflow.python.ops.resource_variable_ops": "regrad.variables.variable",
    "tensorflow.python.ops.init_ops": "regrad.variables.initializers",
    "tensorflow.python.ops.random_ops": "regrad.ops.random",
    "tensorflow.python.ops.clip_ops": "",
    "tensorflow.python.ops.check_ops": "",
    "tensorflow.python.ops.linalg_ops": "regrad.linalg",
    "tensorflow.python.ops.image_ops": "regrad.image",
    "tensorflow.python.ops.sparse_ops": "",
    "tensorflow.python.ops.embedding_ops": "regrad.nn",
    "tensorflow.python.ops.rnn": "regrad.nn",
    "tensorflow.python.ops.rnn_cell": "",
    "tensorflow.python.ops.rnn_cell_impl": "",
    "tensorflow.python.ops.math_ops_impl": "",
    "tensorflow.python.ops.standard_ops": "regrad",
    "tensorflow.python.ops.logging_ops": "",
    "tensorflow.python.ops.string_ops": "",
    "tensorflow.python.ops.distributions": "",
    "tensorflow.python.ops.losses": "regrad.losses",
    "tensorflow.python.ops.losses.losses": "regrad.losses",
    "tensorflow.python.layers": "regrad.layers",
    "tensorflow.python.layers.layers": "regrad.layers",
    "tensorflow.python.layers.base": "regrad.layers",
    "tensorflow.python.layers.core": "regrad.layers",
    "tensorflow.python.layers.convolutional": "regrad.layers",
    "tensorflow.python.layers.normalization": "regrad.layers",
    "tensorflow.python.training": "regrad.train",
    "tensorflow.python.training.optimizer": "regrad.train",
    "tensorflow.python.training.training_util": "regrad.train",
    "tensorflow.python.training.moving_averages": "regrad.train",
    "tensorflow.python.training.saver": "regrad.train",
    "tensorflow.python.platform": "",
    "tensorflow.python.platform.gfile": "regrad.gfile",
    "tensorflow.python.platform.flags": "regrad.flags",
    "tensorflow.python.platform.app": "regrad.app",
    "tensorflow.python.platform.test": "regrad.test",
    "tensorflow.python.platform.tf_logging": "regrad.logging",
    "tensorflow.python.util": "",
    "tensorflow.python.util.nest": "regrad.core.nest",
    "tensorflow.python.util.tf_export": "",
    "tensorflow.python.eager": "",
    "tensorflow.python.eager.context": "",
    "tensorflow.python.pywrap_tensorflow": "",
    "tensorflow.core": "",
    "tensorflow.core.framework": "",
    "tensorflow.core.framework.summary_pb2": "regrad.core.messages",
    "tensorflow.core.framework.tensor_pb2": "regrad.core.messages",
    "tensorflow.core.framework.tensor_shape_pb2": "regrad.core.messages",
    "tensorflow.core.framework.graph_pb2": "regrad.core.graph_def",
    "tensorflow.core.framework.node_def_pb2": "regrad.core.graph_def",
    "tensorflow.core.framework.attr_value_pb2": "regrad.core.graph_def",
    "tensorflow.core.util": "",
    "tensorflow.core.util.event_pb2": "regrad.core.messages",
    "tensorflow.core.example": "",
    "tensorflow.core.example.example_pb2": "regrad.core.messages",
    "tensorflow.core.example.feature_pb2": "regrad.core.messages",
    "tensorflow.python.summary": "regrad.summary",
    "tensorflow.python.summary.summary": "regrad.summary",
    "tensorflow.python.summary.writer": "regrad.summary",
    "tensorflow.python.summary.writer.writer": "regrad.summary",
    "tensorflow.python.summary.summary_iterator": "regrad.summary",
}

for _part in ("gen_array_ops", "gen_math_ops", "gen_nn_ops", "gen_linalg_ops", "gen_image_ops", "gen_state_ops",
              "gen_random_ops", "gen_control_flow_ops", "gen_data_flow_ops", "gen_script_ops", "gen_spectral_ops",
              "gen_string_ops", "gen_logging_ops", "gen_training_ops", "gen_bitwise_ops"):
    MODULES[f"tensorflow.python.ops.{_part}"] = "generated"
MODULES["tensorflow.raw_ops"] = "generated"

_NAMESPACES = """bitwise contrib errors initializers layers linalg logging losses math nn random train signal spectral strings
    summary image test gfile app flags manip sets metrics keras io debugging dtypes quantization""".split()
for _part in _NAMESPACES:
    MODULES.setdefault(f"tensorflow.{_part}", {"errors": "regrad.core.errors", "dtypes": "regrad.core.dtypes"}
                       .get(_part, f"regrad.{_part}"))
    MODULES.setdefault(f"tensorflow.compat.v1.{_part}", MODULES[f"tensorflow.{_part}"])


def _get_gradient_function(op):
    from regrad.autodiff.overrides import resolve

    return resolve(op)


def _disable_v2_behavior():
    """Does nothing: graphs and sessions are all there is."""


# Names that TensorFlow has in a module and Regrad has elsewhere: {module: {name: "module:name" or value}}.
EXTRAS = {
    "tensorflow": {"disable_v2_behavior": _disable_v2_behavior, "disable_eager_execution": _disable_v2_behavior,
                   "executing_eagerly": lambda: False, "__version__": "1.15.0", "VERSION": "1.15.0",
                   "GIT_VERSION": "regrad", "disable_resource_variables": _disable_v2_behavior,
                   "enable_resource_variables": _disable_v2_behavior,
                   "disable_control_flow_v2": _disable_v2_behavior, "disable_v2_tensorshape": _disable_v2_behavior},
    "tensorflow.python.framework.ops": {
        "RegisterGradient": "regrad.core.gradient_registry:RegisterGradient",
        "NotDifferentiable": "regrad.core.gradient_registry:NotDifferentiable",
        "NoGradient": "regrad.core.gradient_registry:NoGradient",
        "_gradient_registry": "regrad.core.gradient_registry:REGISTRY",
        "get_gradient_function": _get_gradient_function,
        "RegisterShape": lambda op_type: lambda f: f,
    },
}
EXTRAS["tensorflow.compat.v1"] = EXTRAS["tensorflow"]


class _Module(types.ModuleType):
    """One of TensorFlow's modules: names are looked up when they are used."""

    def __getattr__(self, name):
        stands_for = _tensorflow_name(self.__name__)
        if name.startswith("__") and name.endswith("__") and name not in EXTRAS.get(stands_for, {}):
            raise AttributeError(name)
        value = _lookup(stands_for, name)
        setattr(self, name, value)
        return value

    def __dir__(self):
        stands_for = _tensorflow_name(self.__name__)
        names = set(super().__dir__()) | set(EXTRAS.get(stands_for, ()))
        target = MODULES[stands_for]
        if target and target != "generated":
            names |= set(dir(importlib.import_module(target)))
        return sorted(names)


def _tensorflow_name(fullname):
    """Returns TensorFlow's name of a module that is imported as tensorflow... or as regrad.python..."""
    return "tensorflow" + fullname.removeprefix("regrad") if fullname.startswith("regrad.") else fullname


def _lookup(module, name):
    """Returns what TensorFlow's `module` calls `name`; AttributeError when Regrad has nothing of that name."""
    extra = EXTRAS.get(module, {}).get(name)
    if isinstance(extra, str) and ":" in extra:
        where, _, attribute = extra.partition(":")
        return getattr(importlib.import_module(where), attribute)
    if extra is not None:
        return extra
    below = f"{module}.{name}"
    if below in MODULES:
        below = below if installed() else "regrad" + below.removeprefix("tensorflow")
        return importlib.import_module(below)
    target = MODULES[module]
    if target == "generated":
        return raw_op(name)
    for place in (target, "regrad"):
        if place:
            try:
                return getattr(importlib.import_module(place), name)
            except AttributeError:
                pass
            except ModuleNotFoundError as error:
                if not str(error.name).startswith("regrad"):
                    raise
    raise AttributeError(f"module {module!r} has no attribute {name!r} in Regrad")


def raw_op(name):
    """Returns the function that makes an op of a generated wrapper's name: `relu_grad` and `ReluGrad` are one."""
    from regrad.core import gradient_registry
    from regrad.core.opdef import find_op, op_types

    gradient_registry.complete()
    opdef = find_op(name)
    if opdef is None:
        wanted = name.strip("_").replace("_", "").lower()
        by_snake = {re.sub(r"\W", "", t).lower(): t for t in op_types()}
        for spelling in (wanted, wanted + "v2", wanted + "v3"):
            if spelling in by_snake:
                opdef = find_op(by_snake[spelling])
                break
    if opdef is None:
        raise AttributeError(f"no op type of Regrad is called {name!r}")
    arguments = [a.name for a in opdef.args]

    def make(*inputs, name=None, **keywords):
        inputs = list(inputs)
        for argument in arguments[len(inputs):]:
            if argument in keywords:
                inputs.append(keywords.pop(argument))
        positional = dict(zip(opdef.attrs, inputs[len(arguments):]))
        return opdef(*inputs[:len(arguments)], name=name, **positional, **keywords)

    make.__name__ = name
    return make


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of TensorFlow's modules from the table."""

    def find_spec(self, fullname, path=None, target=None):
        tensorflow = fullname.startswith("tensorflow")
        if tensorflow and not installed() or not tensorflow and not fullname.startswith("regrad.python."):
            return None
        if _tensorflow_name(fullname) not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


_finder = _Finder()
_answers = False


def mount():
    """Makes TensorFlow's module tree importable below `regrad.python`."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def installed():
    """True when imports of `tensorflow` are answered by Regrad in this process."""
    return _answers


def install():
    """Answers imports of `tensorflow` by Regrad in this process, from now on.

    Raises:
      RuntimeError: a real TensorFlow is imported already.
    """
    present = sys.modules.get("tensorflow")
    if present is not None and not isinstance(present, _Module):
        raise RuntimeError("tensorflow is imported already in this process; run the program with `regrad run`, or call "
                           "regrad.compat.install() first.")
    global _answers
    mount()
    _answers = True


def uninstall():
    """Takes `install` back, and forgets the modules it made."""
    global _answers
    _answers = False
    for name in [n for n, m in sys.modules.items() if isinstance(m, _Module) and n.startswith("tensorflow")]:
        del sys.modules[name]
