"""Nodes of TensorFlow's graphs whose op types Regrad has under another name, or with other inputs.

Regrad has one kind of variable: what TensorFlow's graphs do to a resource becomes what they do to a `VariableV2`. Of op types
that later versions replaced the newest stands for all.
"""

import numpy as np

from regrad.core.dtypes import as_dtype
from regrad.core.graph_def import AttrValue, NodeDef, attribute, controls, operands, source
from regrad.core.opdef import find_op
from regrad.core.shapes import TensorShape


def native(nodes):
    """Returns the nodes of a GraphDef as Regrad's op types; those that are Regrad's already are the same objects.

    A node keeps its name and its outputs. Constants that its op type takes in addition are put before it.
    """
    nodes = list(nodes)
    if all(_is_native(n) for n in nodes):
        return nodes
    graph = _Nodes({n.name: n for n in nodes})
    made = []
    for node in nodes:
        translate = None if _is_native(node) else _translation(node.op)
        if translate is not None:
            node = _copy(node)
            translate(graph, node)
        made += [*graph.added, node]
        graph.added = []
    return made


def _is_native(node):
    return find_op(node.op) is not None and not (node.op == "ParseExample" and "Nsparse" in node.attr)


def _copy(node):
    made = NodeDef()
    made.CopyFrom(node)
    return made


class _Nodes:
    """The nodes by name, and the constants that the translation of one of them adds."""

    def __init__(self, named):
        self.named = named
        self.added = []

    def constant(self, node, word, value):
        """Returns the name of a new constant beside `node`."""
        name = f"{node.name}/{word}"
        while name in self.named:
            name += "_"
        value = np.asarray(value)
        dtype = as_dtype("string" if value.dtype == object else value.dtype)
        made = NodeDef(name=name, op="Const", device=node.device, attr={"dtype": AttrValue(dtype), "value": AttrValue(value)})
        return self.add(made)

    def packed(self, node, word, names):
        """Returns the name of a new vector of string scalars."""
        if not names:
            return self.constant(node, word, np.zeros(0, object))
        attrs = {"N": len(names), "T": as_dtype("string"), "axis": 0}
        return self.add(NodeDef(name=f"{node.name}/{word}_packed", op="Pack", input=names, device=node.device,
                                attr={key: AttrValue(value) for key, value in attrs.items()}))

    def add(self, node):
        self.named[node.name] = node
        self.added.append(node)
        return node.name


# -- translations: function(graph, node) changes the node ----------------------------------------------------
def _renamed(op_type):
    def translate(graph, node):
        node.op = op_type

    return translate


def _with_constants(op_type, *words, order=None):
    """Returns the translation to an op type that takes constants behind the others: (name, value or function of the node)."""

    def translate(graph, node):
        new = [graph.constant(node, word, value(node) if callable(value) else value) for word, value in words]
        inputs = [*operands(node), *new]
        node.op, node.input = op_type, [*(inputs if order is None else order(inputs)), *controls(node)]

    return translate


def _integer(value):
    return np.array(value, np.int32)


def _text_of(key):
    def value(node):
        text = attribute(node, key, b"")
        return np.array(text.encode() if isinstance(text, str) else text, object)

    return value


def _zero(node):
    return np.zeros((), node.attr["T"].value.as_numpy_dtype)


def _variable(graph, node):
    node.op = "VariableV2"
    node.attr.setdefault("shape", AttrValue(TensorShape(None)))


def _nothing(graph, node):
    node.op, node.input = "NoOp", controls(node)


def _assign_resource(graph, node):
    node.op = "Assign"
    # A resource of unknown shape takes any value; a known one refuses another shape unless it is told otherwise.
    handle = graph.named.get(source(operands(node)[0]))
    shape = attribute(handle, "shape") if handle is not None else None
    unknown = shape is None or isinstance(shape, TensorShape) and not shape.is_fully_defined()
    node.attr["validate_shape"] = AttrValue(not unknown)


def _gather_resource(graph, node):
    axis = graph.constant(node, "axis", _integer(attribute(node, "batch_dims", 0)))
    node.op, node.input = "GatherV2", [*operands(node), axis, *controls(node)]


def _diagonal(op_type):
    """Returns the translation of diagonals: one diagonal is the same however it is aligned."""

    def translate(graph, node):
        aligned = attribute(node, "align", "RIGHT_LEFT")
        node.op, node.attr["align"] = op_type, AttrValue(aligned.decode() if isinstance(aligned, bytes) else aligned)

    return translate


def _blocks(op_type):
    def translate(graph, node):
        size = graph.constant(node, "block_shape", np.full(2, attribute(node, "block_size", 0), np.int32))
        x, paddings = operands(node)
        node.op, node.input = op_type, [x, size, paddings, *controls(node)]

    return translate


def _parse_example(graph, node):
    n, m = attribute(node, "Nsparse", 0), attribute(node, "Ndense", 0)
    serialized, names, *rest = operands(node)
    sparse, dense, none = (graph.packed(node, word, part) for word, part in (
        ("sparse_keys", rest[:n]), ("dense_keys", rest[n:n + m]), ("ragged_keys", [])))
    node.op, node.input = "ParseExampleV2", [serialized, names, sparse, dense, none, *rest[n + m:], *controls(node)]
    node.attr["num_sparse"] = AttrValue(n)


def _pipeline(graph, node):
    node.attr["of"] = AttrValue(node.op)
    node.op = "TensorFlowDataset"


_TRANSLATIONS = {
    "ParseExample": _parse_example,
    # resources
    "VarHandleOp": _variable, "Variable": _variable, "ReadVariableOp": _renamed("Identity"),
    "AssignVariableOp": _assign_resource, "AssignAddVariableOp": _renamed("AssignAdd"),
    "AssignSubVariableOp": _renamed("AssignSub"), "VarIsInitializedOp": _renamed("IsVariableInitialized"),
    "ResourceGather": _gather_resource, "ResourceGatherNd": _renamed("GatherNd"), "VariableShape": _renamed("Shape"),
    # older and newer forms
    "AddV2": _renamed("Add"), "BatchMatMul": _renamed("BatchMatMulV2"), "BatchMatMulV3": _renamed("BatchMatMulV2"),
    "SparseMatMul": _renamed("MatMul"), "Inv": _renamed("Reciprocal"), "InvGrad": _renamed("ReciprocalGrad"),
    "Mod": _renamed("TruncateMod"), "RefIdentity": _renamed("Identity"), "PlaceholderV2": _renamed("Placeholder"),
    "ControlTrigger": _renamed("NoOp"), "DisableCopyOnRead": _nothing, "DestroyResourceOp": _nothing,
    "CheckNumericsV2": _renamed("CheckNumerics"), "BiasAddV1": _renamed("BiasAdd"),
    "ParallelDynamicStitch": _renamed("DynamicStitch"),
    "Gather": _with_constants("GatherV2", ("axis", _integer(0))),
    "Concat": _with_constants("ConcatV2", order=lambda inputs: [*inputs[1:], inputs[0]]),
    "TopK": _with_constants("TopKV2", ("k", lambda node: _integer(attribute(node, "k", 0)))),
    "StaticRegexFullMatch": _with_constants("RegexFullMatch", ("pattern", _text_of("pattern"))),
    "StaticRegexReplace": _with_constants("RegexReplace", ("pattern", _text_of("pattern")), ("rewrite", _text_of("rewrite"))),
    "NonMaxSuppressionV2": _with_constants("NonMaxSuppressionV3", ("score_threshold", np.array(-np.inf, np.float32))),
    "SpaceToBatch": _blocks("SpaceToBatchND"), "BatchToSpace": _blocks("BatchToSpaceND"),
    "MatrixDiag": _with_constants("MatrixDiagV2", ("k", _integer(0)), ("num_rows", _integer(-1)), ("num_cols", _integer(-1)),
                                  ("padding_value", _zero)),
    "MatrixDiagPart": _with_constants("MatrixDiagPartV2", ("k", _integer(0)), ("padding_value", _zero)),
    "MatrixSetDiag": _with_constants("MatrixSetDiagV2", ("k", _integer(0))),
    "MatrixDiagV3": _diagonal("MatrixDiagV2"), "MatrixDiagPartV3": _diagonal("MatrixDiagPartV2"),
    "MatrixSetDiagV3": _diagonal("MatrixSetDiagV2"),
    **{f"Batch{name}": _renamed(name) for name in """MatrixBandPart MatrixDeterminant MatrixInverse MatrixSolve MatrixSolveLs
        MatrixTriangularSolve Cholesky CholeskyGrad FFT FFT2D FFT3D IFFT IFFT2D IFFT3D""".split()},
}

_RESOURCES = ("Apply", "SparseApply", "Scatter", "StridedSliceAssign", "CountUpTo")


def _translation(op_type):
    """Returns the function that translates nodes of an op type that Regrad has not, or None."""
    found = _TRANSLATIONS.get(op_type)
    if found is not None:
        return found
    if "Dataset" in op_type:
        return _pipeline
    if op_type.startswith("Resource") and op_type[8:].startswith(_RESOURCES) and find_op(op_type[8:]) is not None:
        return _renamed(op_type[8:])
    # Queues, readers and tables: a first form that names its object by a string, and a second that has a handle.
    return _renamed(op_type + "V2") if op_type.startswith(_HANDLED) and find_op(op_type + "V2") is not None else None


_HANDLED = ("FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue", "Queue", "Reader", "TFRecordReader",
            "TextLineReader", "FixedLengthRecordReader", "IdentityReader", "WholeFileReader", "HashTable", "MutableHashTable",
            "MutableDenseHashTable", "LookupTable", "InitializeTable")


# -- writing ---------------------------------------------------------------------------------------------------
PRIVATE = "_attr_"  # TensorFlow lets a node have attributes of any name that begins with an underscore


def _table(rows):
    """Returns {op type: {attribute here: attribute there}} of lines "OpType ...: name=other name= name"."""
    made: dict = {}
    for row in rows.split("\n"):
        types, _, names = row.partition(":")
        for op_type in types.split():
            for pair in names.split():
                here, equals, there = pair.partition("=")
                made.setdefault(op_type, {})[here] = there if equals else PRIVATE + here
    return made


# What TensorFlow's op types call the attributes of Regrad's: under another name; "name=" not at all, as the inputs tell; or, a
# name alone, Regrad's own.
_ATTRIBUTES = _table("""
    GatherV2 GatherNd: T=Tparams
    PlaceholderWithDefault IsVariableInitialized: T=dtype
    SaveV2: T=dtypes N=
    ParseExampleV2: T=Tdense N=
    IdentityN Assert StringFormat PyFunc PyFuncStateless EagerPyFunc: N=
    Print: N= times
    ConcatOffset FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars: T=
    FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient: T=
    FusedBatchNorm FusedBatchNormGrad NonMaxSuppressionV3 NonMaxSuppressionV4: U=
    MatrixDiagV2 MatrixDiagPartV2 MatrixSetDiagV2: align
    EnsureShape: of
    AllCandidateSampler: range_max
    ExtractVolumePatches: rates
    ParameterizedTruncatedNormal: T=dtype S=T
    StatelessRandomUniformInt: Tout=dtype
    QuantizedRelu QuantizedRelu6 QuantizedReluX Requantize RequantizationRange QuantizeDownAndShrinkRange: T=Tinput
    HashTableV2 MutableHashTableV2 MutableHashTableOfTensorsV2: spec=
    LookupTableFindV2: value_shape
    InitializeTableV2: Tin=Tkey Tout=Tval
    """)


def written_name(op_type, key):
    """Returns how the attribute `key` of an op type is called in a file; "" when it does not stand there."""
    names = _ATTRIBUTES.get(op_type)
    return key if names is None else names.get(key, key)
