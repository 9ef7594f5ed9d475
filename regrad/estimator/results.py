"""What an evaluation gave, as events."""

import numbers

import numpy as np

from regrad import logging
from regrad.core.graph_keys import GraphKeys
from regrad.core.messages import Summary, make_tensor_proto
from regrad.train.event_files import FileWriterCache


def write_results(folder, results, checkpoint_path):
    """Logs and writes an evaluation's {name: value}, and which checkpoint it was of."""
    step = int(results[GraphKeys.GLOBAL_STEP])
    shown = ", ".join(f"{name} = {value}" for name, value in sorted(results.items()) if not isinstance(value, bytes))
    logging.info("Saving dict for global step %d: %s", step, shown)
    writer = FileWriterCache.get(folder)
    values = [v for name, value in results.items() if name != GraphKeys.GLOBAL_STEP for v in _values(name, value)]
    writer.add_summary(Summary(value=values), step)
    if checkpoint_path:
        logging.info("Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path)
        path = Summary.Value(tag="checkpoint_path", tensor=make_tensor_proto(checkpoint_path))
        writer.add_summary(Summary(value=[path]), step)
    writer.flush()


def _values(name, value):
    """Returns a list of Summary.Values: of a number, an array, or a serialised Summary; None is left out."""
    if value is None:
        return []
    if isinstance(value, numbers.Real):
        return [Summary.Value(tag=name, simple_value=float(value))]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [Summary.Value(tag=name, tensor=make_tensor_proto(value))]
    if isinstance(value, bytes):
        try:
            found = Summary.FromString(value).value
        except ValueError:
            logging.warning("Skipping summary for %s, cannot parse string to Summary.", name)
            return []
        for i, v in enumerate(found):
            v.tag = f"{name}/{i}"
        return list(found)
    logging.warning("Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a "
                    "serialized string of Summary.", name)
    return []
