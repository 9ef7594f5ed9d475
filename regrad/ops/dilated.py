"""Any operation on windows, dilated: its input is taken apart into grids that lie inside one another."""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.ops import array
from regrad.ops.layout import batch_to_space_nd, required_space_to_batch_paddings, space_to_batch_nd


def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):
    """Returns `op` on the input with windows whose elements are `dilation_rate` apart.

    Args:
      input: tensor with a batch axis, spatial axes, and others.
      dilation_rate: int per spatial axis.
      padding: "VALID" or "SAME" (which needs `filter_shape`).
      op: function `op(input, num_spatial_dims, padding)`; with dilation it is given "VALID".
      filter_shape: of the filter, its spatial sizes first.
      spatial_dims: which axes; by default those after the batch, or after the channels if `data_format` says "NC...".
      data_format: "N...C" or "NC...".

    Raises:
      ValueError: "SAME" without `filter_shape`, a rate below 1, or spatial axes that are not in order.
    """
    input = convert_to_tensor(input, name="input")
    rate = np.asarray(convert_to_tensor(dilation_rate).value())
    if (rate < 1).any():
        raise ValueError(f"dilation_rate must be positive, but saw: {rate.tolist()}")
    n = len(rate)
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    axes = list(range(first, first + n)) if spatial_dims is None else [int(a) for a in spatial_dims]
    if axes != sorted(set(axes)) or axes[0] < 1:
        raise ValueError(f"spatial_dims must be a monotonically increasing sequence of positive integers, but saw: {axes}")
    if (rate == 1).all():
        return op(input, num_spatial_dims=n, padding=padding)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for SAME padding")
        size = np.asarray(convert_to_tensor(filter_shape).value())[:n]
        extra = (size - 1) * rate
        base = np.stack([extra // 2, extra - extra // 2], 1)
    elif padding == "VALID":
        base = np.zeros((n, 2), np.int32)
    else:
        raise ValueError(f"Invalid padding method {padding!r}")
    known = [input.dims[a] for a in axes]
    sizes = known if None not in known else array.stack([array.shape(input)[a] for a in axes])
    paddings, crops = required_space_to_batch_paddings(sizes, rate.astype(np.int32), base.astype(np.int32))
    # Axes between the batch and the last spatial one that are not spatial count as such with a rate of 1.
    last = axes[-1]
    blocks = np.ones(last, np.int32)
    blocks[np.array(axes) - 1] = rate

    def spread(pairs):
        rows = {a: pairs[i] for i, a in enumerate(axes)}
        value = pairs.value()
        if value is not None:
            whole = np.zeros((last, 2), np.int32)
            whole[np.array(axes) - 1] = value
            return whole
        return array.stack([rows.get(a, np.zeros(2, np.int32)) for a in range(1, last + 1)])

    inside = op(space_to_batch_nd(input, blocks, spread(paddings)), num_spatial_dims=n, padding="VALID")
    return batch_to_space_nd(inside, blocks, spread(crops))
