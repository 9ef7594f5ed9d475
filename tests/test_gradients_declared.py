"""Every op type differentiates: it has a gradient rule, is declared NotDifferentiable, or stands here with a reason."""

import regrad.ops
from regrad.core import gradient_registry, opdef
from tests import ops_page, tf_gradients
from tests.cases import Case, Edge, Steps, families

regrad.ops.load()

# Op types with neither, and why. A row that is no longer needed is an error too.
WITHOUT = {
    "Placeholder": "fed from outside: nothing is before it",
    **dict.fromkeys("""Dequantize QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd QuantizedAvgPool QuantizedBiasAdd
        QuantizedConcat QuantizedConv2D QuantizedMatMul QuantizedMaxPool QuantizedMul QuantizedRelu QuantizedRelu6
        QuantizedReluX QuantizedReshape RequantizationRange Requantize""".split(),
                    "as in TensorFlow, where a gradient that gets there is an error"),
}

# Op types without a row of their own in tests/cases, and where they are tested.
_HANDLE = "tests/programs/behaviour: what one run gives is fed to the next"
ELSEWHERE = {
    **dict.fromkeys(("DeleteSessionTensor", "GetSessionHandleV2", "GetSessionTensor"), _HANDLE),
    "FuncInput": "what a branch or body takes from outside: the rows of Case, If and While",
    "LoweringVJP": "the second derivatives of every row whose rule is the derivative of the lowering",
    "TensorFlowDataset": "what the pipelines of TensorFlow's graphs become: data/test_stored.py",
    "RandomGammaGrad": "the second derivatives of the rows of RandomGamma",
}


def _types():
    return sorted(t for t in opdef.op_types() if opdef.USER_DEFINED not in opdef.find_op(t).key)


def test_every_op_type_has_a_rule_or_a_reason():
    undeclared = {t for t in _types() if gradient_registry.find(t) is None}
    assert undeclared - set(WITHOUT) == set(), "op types without a gradient rule, a NotDifferentiable or a reason"
    assert set(WITHOUT) - undeclared == set(), "reasons for what has a rule now, or is no op type"


def test_every_rule_is_for_an_op_type_or_meant_to_be_named():
    from regrad.core.tf_op_types import TF_OP_TYPES

    built_in = {n for n in gradient_registry.names() if (op := opdef.find_op(n)) is None or opdef.USER_DEFINED not in op.key}
    strangers = {n for n in built_in - set(_types()) if n not in TF_OP_TYPES and _in_ops(n)}
    assert strangers == set()


def test_op_types_are_listed():
    from regrad.core.tf_op_types import OP_TYPES

    named = {n for n in gradient_registry.names() if _in_ops(n)} | {t for t in opdef.op_types()
                                                                      if opdef.find_op(t).module.startswith("regrad.")}
    assert named - OP_TYPES == set(), "names that users could take before their family is loaded: list them in OP_TYPES"


def _in_ops(name):
    op_type = opdef.defined(name)  # another test may have defined one of its own, with a rule made of its lowering
    own = op_type is None or opdef.USER_DEFINED not in op_type.key
    return own and gradient_registry.find(name).where.startswith("regrad/ops/")


def test_every_op_type_has_a_row_or_a_reason():
    tested = {r.op_type for rows in families().values() for r in rows if isinstance(r, (Case, Edge, Steps))}
    assert set(ops_page.built_in()) - tested - set(ELSEWHERE) == set(), "op types that no row of tests/cases is about"
    assert set(ELSEWHERE) & tested == set(), "rows exist for these by now"


def _kind(op_type):
    found = gradient_registry.find(op_type)
    return "none" if found is None else "not differentiable" if found.function is None else "rule"


def test_what_tensorflow_differentiates_is_here_or_said_to_be_absent():
    wanted = (tf_gradients.DIFFERENTIABLE | tf_gradients.OLDER | tf_gradients.HELPERS | tf_gradients.NOT_DIFFERENTIABLE)
    absent = {t for t in wanted if opdef.find_op(gradient_registry.canonical(t)) is None}
    assert absent - set(tf_gradients.ABSENT) == set(), "op types of TensorFlow without a word why they are absent"
    assert set(tf_gradients.ABSENT) - absent == set(), "reasons for what is here by now"
    otherwise = {t for t in wanted - absent
                 if (_kind(t) == "rule") != (t not in tf_gradients.NOT_DIFFERENTIABLE) or _kind(t) == "none"}
    assert otherwise == set(tf_gradients.OTHERWISE), "where Regrad says otherwise than TensorFlow whether there is a gradient"
