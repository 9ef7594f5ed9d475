"""Rows for `regrad/ops/tensor_array.py`, whose flow tensor is the array of rows itself."""

import numpy as np

from regrad.ops import tensor_array
from tests.cases import Bad, Case

P = np.array
ALL = ("float16", "float32", "complex64")


def written(flow, index, value, **_):
    out = flow.copy()
    out[index] = value
    return out


CASES = [
    Case("TensorArrayReadV3", tensor_array.read_op, lambda flow, i: flow[i], ((4, 2, 3), P(2, np.int32)), dtypes=ALL),
    Case("TensorArrayReadV3", tensor_array.read_op, lambda flow, i: flow[i], ((1,), P(0, np.int32)), note="scalars"),
    Case("TensorArrayWriteV3", tensor_array.write_op, written, ((4, 2, 3), P(2, np.int32), (2, 3)), dtypes=ALL),
    Case("TensorArrayWriteV3", tensor_array.write_op, written, ((3,), P(0, np.int32), ()), note="scalars"),
    Case("TensorArrayWriteV3", tensor_array.write_op, lambda flow, i, x, **_: np.concatenate([flow, [0 * x, x]]),
         ((2, 3), P(3, np.int32), (3,)), {"dynamic_size": True}, wrt=(2,), note="longer"),
    Case("TensorArrayTake", tensor_array.take_op, lambda flow, i: (flow[i], written(flow, i, 0)), ((4, 2, 3), P(2, np.int32)),
         dtypes=ALL),
    Case("TensorArrayGatherV3", tensor_array.gather_op, lambda flow, i: flow[i], ((4, 3), P([2, 0, 2], np.int32)), dtypes=ALL),
    Case("TensorArrayGatherV3", tensor_array.gather_op, lambda flow, i: flow[i], ((4, 3), P([], np.int32)), note="none"),
    Case("TensorArrayScatterV3", tensor_array.scatter_op, written, ((4, 3), P([2, 0]), (2, 3)), dtypes=ALL),
    Case("TensorArrayUnstack", tensor_array.unstack_op, lambda x, flow, **_: x, ((3, 2), (3, 2)), wrt=(0,), dtypes=ALL),
    Case("TensorArrayUnstack", tensor_array.unstack_op, lambda x, flow, **_: np.concatenate([x, 0 * flow[:2]]),
         ((3, 2), (5, 2)), wrt=(0,), note="into a larger array"),
    Case("TensorArrayConcatV3", tensor_array.concat_op, lambda flow: flow.reshape(6, 4), ((3, 2, 4),), dtypes=ALL),
    Case("TensorArrayConcatV3", tensor_array.concat_op, lambda flow: flow.reshape(0, 4), ((0, 2, 4),), note="empty"),
    Case("TensorArraySplitV3", tensor_array.split_op, lambda x, **_: x.reshape(3, 2, 4), ((6, 4),), {"num": 3, "length": 2},
         dtypes=ALL),
    Case("TensorArraySplitV3", tensor_array.split_op, lambda x, **_: x.reshape(3, 0), ((0,),), {"num": 3, "length": 0},
         note="empty"),
    Case("TensorArraySizeV3", tensor_array.size_op, lambda flow: P(4, np.int32), ((4, 2),), order=0),
    Bad("TensorArrayConcatV3", lambda: tensor_array.TensorArray("float32", 3).unstack(np.zeros(3, np.float32)).concat(),
        ValueError, "scalars cannot be joined"),
    Bad("TensorArraySplitV3", lambda: tensor_array.TensorArray("float32", 2).split(np.zeros(5, np.float32), [2, 2]),
        ValueError, "sum of lengths is 4"),
    Bad("TensorArrayUnstack", lambda: tensor_array.unstack_op(np.zeros((3, 2)), np.zeros((2, 2))), ValueError,
        "do not fit in an array that is not resizeable"),
]
