"""`tf.saved_model.signature_def_utils`: what a graph computes, as a server asks for it."""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph_proto import SignatureDef
from regrad.saved_model import signature_constants as names
from regrad.saved_model.utils import build_tensor_info, build_tensor_info_from_op, get_element_from_tensor_info

__all__ = ["build_signature_def", "classification_signature_def", "is_valid_signature", "predict_signature_def",
           "regression_signature_def"]


def build_signature_def(inputs=None, outputs=None, method_name=None, defaults=None):
    """Returns a SignatureDef.

    Args:
      inputs, outputs: {name: TensorInfo}.
      method_name: what a server does with them, such as `signature_constants.PREDICT_METHOD_NAME`.
      defaults: {name of an input: TensorProto}, where an input may be left out.
    """
    made = SignatureDef(method_name=method_name)
    for place, given in (("inputs", inputs), ("outputs", outputs), ("defaults", defaults)):
        for key, value in (given or {}).items():
            getattr(made, place)[key].CopyFrom(value)
    return made


def _infos(tensors):
    return {key: build_tensor_info(tensor) for key, tensor in tensors.items()}


def predict_signature_def(inputs, outputs):
    """Returns the SignatureDef of a prediction of anything: {name: tensor} of its inputs and outputs.

    Raises:
      ValueError: there are none.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def _examples(examples, what):
    """Returns the inputs of a signature whose input is serialised Examples."""
    if examples is None:
        raise ValueError(f"{what} `examples` cannot be None.")
    tensor = convert_to_tensor(examples)
    if tensor.dtype is not dtypes.string:
        raise ValueError(f"{what} input tensors must be of type string. Found tensor with type {tensor.dtype.name}.")
    return {names.REGRESS_INPUTS: build_tensor_info(tensor)}


def regression_signature_def(examples, predictions):
    """Returns the SignatureDef of a regression: string tensor of serialised Examples, float32 tensor of predictions.

    Raises:
      ValueError: one is None, or of another dtype.
    """
    inputs = _examples(examples, "Regression")
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    tensor = convert_to_tensor(predictions)
    if tensor.dtype is not dtypes.float32:
        raise ValueError(f"Regression output tensor must be of type float. Found tensor with type {tensor.dtype.name}.")
    return build_signature_def(inputs, {names.REGRESS_OUTPUTS: build_tensor_info(tensor)}, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples, classes, scores):
    """Returns the SignatureDef of a classification: string tensor of serialised Examples, string tensor of the classes, float32
    tensor of their scores; one of the last two may be None.

    Raises:
      ValueError: both are None, or one has another dtype.
    """
    inputs = _examples(examples, "Classification")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    outputs = {}
    for key, value, dtype in ((names.CLASSIFY_OUTPUT_CLASSES, classes, dtypes.string),
                              (names.CLASSIFY_OUTPUT_SCORES, scores, dtypes.float32)):
        if value is None:
            continue
        tensor = convert_to_tensor(value)
        if tensor.dtype is not dtype:
            raise ValueError(f"Classification {key} must be a tensor of {dtype.name}, found {tensor.dtype.name}.")
        outputs[key] = build_tensor_info(tensor)
    return build_signature_def(inputs, outputs, names.CLASSIFY_METHOD_NAME)


def is_valid_signature(signature_def):
    """Returns whether a SignatureDef has the inputs and outputs that its method needs."""
    if signature_def is None:
        return False
    method = signature_def.method_name
    inputs, outputs = signature_def.inputs, signature_def.outputs
    if method == names.PREDICT_METHOD_NAME:
        return bool(inputs and outputs)
    if method not in (names.CLASSIFY_METHOD_NAME, names.REGRESS_METHOD_NAME):
        return False
    if set(inputs) != {names.CLASSIFY_INPUTS} or inputs[names.CLASSIFY_INPUTS].dtype != dtypes.string.as_datatype_enum:
        return False
    wanted = {names.CLASSIFY_OUTPUT_CLASSES: dtypes.string, names.CLASSIFY_OUTPUT_SCORES: dtypes.float32}
    if method == names.REGRESS_METHOD_NAME:
        wanted = {names.REGRESS_OUTPUTS: dtypes.float32}
    return bool(outputs) and set(outputs) <= set(wanted) and all(
        info.dtype == wanted[key].as_datatype_enum for key, info in outputs.items())


def op_signature_def(op, key):
    """Returns the SignatureDef that names an operation under `key`."""
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def, key, import_scope=None):
    """Returns the tensor or operation that a SignatureDef names under `key`.

    Raises:
      NotFoundError: it is not in the graph.
    """
    from regrad.core.errors import NotFoundError

    try:
        return get_element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except KeyError as error:
        raise NotFoundError(None, None, f"The key {key!r} could not be found in the graph: {error}") from None
