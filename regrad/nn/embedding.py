"""Looking up rows of tables that may be cut into parts."""

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, math
from regrad.ops.indexing import gather
from regrad.ops.reduce import reduce_sum


def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Returns the rows `ids` of an embedding table.

    Args:
      params: the table [rows, ...], a tensor or variable; or a list of the parts of one.
      ids: int32 or int64 of any shape.
      partition_strategy: how a list holds the table. "mod": row i is in part i % n; "div": parts are
        consecutive.
      validate_indices: accepted.
      max_norm: rows are scaled down to at most this L2 norm.

    Returns:
      A tensor of shape ids.shape + params.shape[1:]. Its gradient with respect to a variable is an
      IndexedSlices.

    Raises:
      ValueError: `params` is empty, or `partition_strategy` is another word.
    """
    if params is None or isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    several = isinstance(params, (list, tuple)) or hasattr(params, "_get_variable_list")
    parts = list(params) if several else [params]
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}; it is 'mod' or 'div'.")
    with get_default_graph().name_scope(name or "embedding_lookup") as scope:
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            return array.identity(_clipped(gather(parts[0], ids, name=scope), ids, max_norm))
        return _partitioned(parts, ids, partition_strategy, max_norm)


def _clipped(rows, ids, max_norm):
    if max_norm is None:
        return rows
    rank = None if ids.dims is None else len(ids.dims)
    if rank is None or rows.dims is None:
        raise ValueError(f"embedding_lookup: max_norm needs the rank of ids and params, got ids {ids.shape}.")
    axes = list(range(rank, len(rows.dims)))
    norm = math.sqrt(reduce_sum(math.square(rows), axes, keepdims=True))
    return rows * max_norm / math.maximum(norm, max_norm)


def _partitioned(parts, ids, strategy, max_norm):
    """Looks up each id in its part, and puts the rows back in order."""
    from regrad.ops.generate import range as range_
    from regrad.ops.partition import dynamic_partition, dynamic_stitch

    n = len(parts)
    tables = [convert_to_tensor(p) for p in parts]
    flat = array.reshape(ids, [-1])
    if strategy == "mod":
        part, row = flat % n, flat // n
    else:
        sizes = [array.shape(t, out_type=flat.dtype)[0] for t in tables]
        total = sizes[0]
        for s in sizes[1:]:
            total = total + s
        # The first `extra` parts have one row more than the others.
        per_part, extra = total // n, total % n
        part = math.maximum(flat // (per_part + 1), (flat - extra) // per_part)
        inside = math.cast(part < extra, flat.dtype)
        row = inside * (flat % (per_part + 1)) + (1 - inside) * ((flat - extra) % per_part)
    part = math.cast(part, "int32")
    rows = dynamic_partition(row, part, n)
    places = dynamic_partition(range_(0, array.size(flat), 1), part, n)
    found = [_clipped(gather(p, r), r, max_norm) for p, r in zip(parts, rows)]
    joined = dynamic_stitch(places, found)
    shape = array.concat([array.shape(ids), array.shape(tables[0])[1:]], 0)
    return array.reshape(joined, shape)
