"""`tf.graph_util`: parts of graphs, and graphs with their variables made constants."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.importer.graph_def": "import_graph_def",
    "regrad.train.graph_files": """
        convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes
        tensor_shape_from_node_def_name""",
})
