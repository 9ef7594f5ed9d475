"""`tf.contrib.saved_model`: looking into SavedModels."""

from regrad.core.errors import nearest
from regrad.saved_model.loader import parse_saved_model as read_saved_model
from regrad.saved_model.signature_def_utils import build_signature_def, is_valid_signature

__all__ = ["build_signature_def", "get_saved_model_tag_sets", "get_signature_def_by_key", "is_valid_signature",
           "read_saved_model"]


def get_saved_model_tag_sets(saved_model_dir):
    """Returns for each graph of a SavedModel the sorted list of its tags."""
    return [sorted(meta.meta_info_def.tags) for meta in read_saved_model(saved_model_dir).meta_graphs]


def get_signature_def_by_key(meta_graph_def, signature_def_key):
    """Returns a SignatureDef of a MetaGraphDef by its name.

    Raises:
      ValueError: there is none of this name.
    """
    found = meta_graph_def.signature_def
    if signature_def_key not in found:
        raise ValueError(f"No SignatureDef with key '{signature_def_key}' found in MetaGraphDef; it has "
                         f"{', '.join(sorted(found)) or 'none'}{nearest(signature_def_key, found)}.")
    return found[signature_def_key]
