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

    Example:
      print(tf.Session().run(tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 1, 0])))
      #> [[3. 4.]
      #>  [3. 4.]
      #>  [1. 2.]]
    """
    if params is None or isinstance(params, (list, tuple)) and not params:
        raise ValueError(f"Need at least one param: params is {params!r}.")
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


def _combined(rows, weights, segments, combiner):
    """Returns the weighted sum of the rows of each segment, its mean, or its sum over the norm of the
    weights.
    """
    from regrad.ops.segment import segment_mean, segment_sum

    if weights is None:
        if combiner == "mean":
            return segment_mean(rows, segments)
        weights = array.ones_like(segments, dtype=rows.dtype)
    weights = math.cast(weights, rows.dtype)
    column = array.reshape(weights, [-1] + [1] * (len(rows.dims) - 1))
    total = segment_sum(rows * column, segments)
    if combiner == "sum":
        return total
    if combiner == "mean":
        return math.div_no_nan(total, segment_sum(column, segments))  # a row without ids gives zeros
    return math.div_no_nan(total, math.sqrt(segment_sum(math.square(column), segments)))


def _check_combiner(combiner):
    if combiner is None:
        return "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}.")
    return combiner


def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None,
                            max_norm=None):
    """Returns, for each row of ids, the rows of an embedding table combined into one.

    Args:
      params, partition_strategy, max_norm: as in `embedding_lookup`.
      sp_ids: SparseTensor [batch, any] of int32 or int64 ids; no row before the last used one may be empty.
      sp_weights: SparseTensor of floats at the same places, or None for weights of 1.
      combiner: "sum", "mean" (the default) or "sqrtn" (the sum over the L2 norm of the weights).

    Raises:
      TypeError: `sp_ids` or `sp_weights` is not a SparseTensor.
      ValueError: `combiner` is another word.
    """
    combiner = _check_combiner(combiner)
    if not hasattr(sp_ids, "dense_shape"):
        raise TypeError(f"sp_ids must be SparseTensor, got {sp_ids!r}.")
    if sp_weights is not None and not hasattr(sp_weights, "dense_shape"):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {sp_weights!r}.")
    with get_default_graph().name_scope(name or "embedding_lookup_sparse"):
        segments = math.cast(sp_ids.indices[:, 0], "int32")
        rows = embedding_lookup(params, sp_ids.values, partition_strategy, max_norm=max_norm)
        return _combined(rows, None if sp_weights is None else sp_weights.values, segments, combiner)


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner="mean",
                                 default_id=None, name=None, partition_strategy="div", max_norm=None):
    """Returns `embedding_lookup_sparse` in which rows may be empty, and ids or weights invalid.

    Ids below 0, and entries whose weight is not above 0 (with a combiner other than "sum"), are left out. A
    row with nothing left gets the row `default_id` of the table, or zeros.
    """
    from regrad.ops.compare import equal, greater, greater_equal, logical_and, select
    from regrad.ops.generate import range as range_
    from regrad.ops.indexing import boolean_mask
    from regrad.ops.segment import unsorted_segment_sum

    combiner = _check_combiner(combiner)
    with get_default_graph().name_scope(name or "embedding_lookup"):
        ids, rows_of = sparse_ids.values, sparse_ids.indices[:, 0]
        valid = greater_equal(ids, array.zeros_like(ids))
        weights = None if sparse_weights is None else sparse_weights.values
        if weights is not None and combiner != "sum":
            valid = logical_and(valid, greater(weights, array.zeros_like(weights)))
        ids, rows_of = boolean_mask(ids, valid), boolean_mask(rows_of, valid)
        weights = None if weights is None else boolean_mask(weights, valid)
        n = math.cast(sparse_ids.dense_shape[0], rows_of.dtype)
        found = embedding_lookup(embedding_weights, ids, partition_strategy, max_norm=max_norm)
        weights = array.ones_like(rows_of,
                                  dtype=found.dtype) if weights is None else math.cast(weights, found.dtype)
        column = array.reshape(weights, [-1] + [1] * (len(found.dims) - 1))
        total = unsorted_segment_sum(found * column, rows_of, n)
        if combiner != "sum":
            power = column if combiner == "mean" else math.square(column)
            norm = unsorted_segment_sum(power, rows_of, n)
            total = math.div_no_nan(total, norm if combiner == "mean" else math.sqrt(norm))
        if default_id is None:
            return total
        count = unsorted_segment_sum(array.ones_like(rows_of), rows_of, n)
        empty = equal(count, array.zeros_like(count))
        default = embedding_lookup(embedding_weights, array.zeros_like(range_(0, n, 1)) + default_id,
                                   partition_strategy, max_norm=max_norm)
        return select(empty, default, total)
