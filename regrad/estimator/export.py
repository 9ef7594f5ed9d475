"""`tf.estimator.export`: what an exported model receives, and what it gives."""

import collections

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.operation import Tensor
from regrad.core.shown import Shown
from regrad.ops.array import placeholder
from regrad.ops.files import parse_example
from regrad.ops.sparse import SparseTensor
from regrad.saved_model import signature_constants as constants
from regrad.saved_model import signature_def_utils

__all__ = ["ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "ServingInputReceiver",
           "TensorServingInputReceiver", "build_parsing_serving_input_receiver_fn", "build_raw_serving_input_receiver_fn"]
_KEY = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


# -- what it receives ----------------------------------------------------------------------------------
def _named(given, alone, what):
    """Returns {name: tensor}; one tensor is called `alone`."""
    found = given if isinstance(given, dict) else {alone: given}
    if not found:
        raise ValueError(f"{what} must be defined.")
    for name, x in found.items():
        if not isinstance(name, str):
            raise ValueError(f"{what} keys must be strings: {name}.")
        if not isinstance(x, (Tensor, SparseTensor)):
            raise ValueError(f"{what} {name} must be a Tensor or SparseTensor.")
    return found


class ServingInputReceiver(collections.namedtuple("ServingInputReceiver", [
        "features", "receiver_tensors", "receiver_tensors_alternatives"])):
    """The features of a served model, and the tensors that are fed.

    Args:
      features: {name: Tensor or SparseTensor}, or one of them, which is called "feature".
      receiver_tensors: {name: placeholder}, or one, which is called "input".
      receiver_tensors_alternatives: {name: others that may be fed}.

    Raises:
      ValueError: something else.
    """

    __slots__ = ()

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        alternatives = None if receiver_tensors_alternatives is None else {
            name: _named(tensors, "input", "receiver_tensors") for name, tensors in receiver_tensors_alternatives.items()}
        return super().__new__(cls, _named(features, "feature", "feature"),
                               _named(receiver_tensors, "input", "receiver_tensors"), alternatives)


class TensorServingInputReceiver(ServingInputReceiver):
    """A ServingInputReceiver whose model function takes one tensor, `features`."""

    __slots__ = ()

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        checked = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return tuple.__new__(cls, (features, *checked[1:]))


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """Returns a function for `export_saved_model`: the model receives serialised `tf.train.Example`s, "examples".

    Args:
      feature_spec: {feature: FixedLenFeature or another}, as for `tf.parse_example`.
      default_batch_size: how many examples; any number by default.
    """
    def receive():
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, feature_spec), {"examples": examples})

    return receive


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """Returns a function for `export_saved_model`: the model receives its features.

    Args:
      features: {name: tensor} like those that are fed.
      default_batch_size: size of the first axis; any by default.
    """
    def receive():
        made = {name: placeholder(x.dtype, None if x.dims is None else [default_batch_size, *x.dims[1:]], name=x.op.name)
                for name, x in ((name, convert_to_tensor(x)) for name, x in features.items())}
        return ServingInputReceiver(made, made)

    return receive


# -- what it gives -------------------------------------------------------------------------------------
class ExportOutput(Shown):
    """Base class of outputs: `as_signature_def(receiver_tensors)`."""

    def as_signature_def(self, receiver_tensors):
        """Returns the SignatureDef of a model that receives these tensors.

        Raises:
          ValueError: there is none of this kind.
        """
        raise NotImplementedError


def _examples(receiver_tensors, what):
    """Returns the one tensor of serialised examples that classifiers and regressors take."""
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    (found,) = receiver_tensors.values()
    if found.dtype is not dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return found


class PredictOutput(ExportOutput):
    """Any outputs.

    Attributes:
      outputs: {name: tensor}; one tensor is called "output".
    """

    def __init__(self, outputs):
        self.outputs = _named(outputs, "output", "Prediction output")

    def as_signature_def(self, receiver_tensors):
        return signature_def_utils.predict_signature_def(receiver_tensors, self.outputs)


class ClassificationOutput(ExportOutput):
    """Classes, strings, with their scores, or one of them.

    Raises:
      ValueError: scores that are not of numbers, classes that are no strings, or neither.
    """

    def __init__(self, scores=None, classes=None):
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype is dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("Cannot create a ClassificationOutput with empty arguments: give scores, classes or both.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors):
        return signature_def_utils.classification_signature_def(_examples(receiver_tensors, "Classification"), self.classes,
                                                                self.scores)


class RegressionOutput(ExportOutput):
    """A number.

    Raises:
      ValueError: `value` is not of numbers.
    """

    def __init__(self, value):
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors):
        return signature_def_utils.regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


def outputs_of(spec):
    """Returns {signature: ExportOutput} of an EstimatorSpec, one of which is the default.

    Raises:
      TypeError: something else is among them.
      ValueError: of several none is called the default.
    """
    found = {_KEY: PredictOutput(spec.predictions)} if spec.export_outputs is None else dict(spec.export_outputs)
    for output in found.values():
        if not isinstance(output, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {found}")
    if len(found) == 1:
        found.setdefault(_KEY, next(iter(found.values())))
    if _KEY not in found:
        raise ValueError("Multiple export_outputs were provided, but none of them is specified as the default. Do this by "
                         f"naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY ({_KEY!r}).")
    return found


def signatures_of(receiver, outputs):
    """Returns {name: SignatureDef}: those outputs that can be had of what is received, for each alternative."""
    found = {}
    alternatives = {"": receiver.receiver_tensors, **(receiver.receiver_tensors_alternatives or {})}
    for prefix, tensors in alternatives.items():
        for name, output in outputs.items():
            try:
                signature = output.as_signature_def(tensors)
            except ValueError:  # classifiers and regressors want serialised examples
                continue
            if signature_def_utils.is_valid_signature(signature):
                found[f"{prefix}:{name}" if prefix else name] = signature
    if not found:
        raise ValueError("No signature can be exported: classifications and regressions take one tensor of serialised "
                         "examples; a PredictOutput takes any.")
    return found
