"""`tf.contrib.predictor`: functions from arrays to arrays, made of SavedModels and other graphs."""

from regrad.contrib.saved_model import get_signature_def_by_key
from regrad.core.graph import Graph
from regrad.runtime.session import Session
from regrad.saved_model import loader, signature_constants, tag_constants
from regrad.saved_model.utils import get_tensor_from_tensor_info
from regrad.train.steps import get_or_create_global_step

__all__ = ["from_estimator", "from_saved_model"]


class Predictor:
    """A function from {name: array} to {name: array}, which a session computes.

    Attributes:
      session, graph: what computes it.
      feed_tensors, fetch_tensors: {name: tensor}.
    """

    def __init__(self, session, feed_tensors, fetch_tensors):
        self._session, self._feed_tensors, self._fetch_tensors = session, feed_tensors, fetch_tensors

    session = property(lambda self: self._session)
    graph = property(lambda self: self._session.graph)
    feed_tensors = property(lambda self: self._feed_tensors)
    fetch_tensors = property(lambda self: self._fetch_tensors)

    def __call__(self, input_dict):
        """Returns the arrays of all outputs.

        Args:
          input_dict: {name: array}; inputs that have defaults may be left out.

        Raises:
          ValueError: a name that is no input.
        """
        unknown = sorted(set(input_dict) - set(self._feed_tensors))
        if unknown:
            raise ValueError(f"Got unexpected keys in input_dict: {unknown}; expected: {sorted(self._feed_tensors)}.")
        return self._session.run(self._fetch_tensors, {self._feed_tensors[key]: value for key, value in input_dict.items()})

    def __repr__(self):
        return f"<Predictor with feed tensors {self._feed_tensors} and fetch tensors {self._fetch_tensors}>"


class SavedModelPredictor(Predictor):
    """A Predictor of a SavedModel; see `from_saved_model`."""

    def __init__(self, export_dir, signature_def_key=None, signature_def=None, input_names=None, output_names=None, tags=None,
                 graph=None, config=None, functions=None):
        if signature_def_key is not None and signature_def is not None:
            raise ValueError("Only one of signature_def_key and signature_def may be specified.")
        if (input_names is None) != (output_names is None):
            raise ValueError("input_names and output_names must both be specified or both be unspecified.")
        if input_names is not None and (signature_def_key is not None or signature_def is not None):
            raise ValueError("You must specify at most one of signature_def_key OR signature_def OR (input_names AND "
                             "output_names).")
        tags = tags or tag_constants.SERVING
        tags = tags.split(",") if isinstance(tags, str) else tags
        graph = graph or Graph()
        with graph.as_default():
            session = Session(config=config)
            meta = loader.load(session, tags, export_dir, functions=functions)
        if input_names is not None:
            feeds, fetches = ({key: graph.get_tensor_by_name(name) for key, name in names.items()}
                              for names in (input_names, output_names))
        else:
            if signature_def is None:
                signature_def = get_signature_def_by_key(
                    meta, signature_def_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY)
            feeds, fetches = _tensors_of(signature_def, graph)
        super().__init__(session, feeds, fetches)


def _tensors_of(signature, graph):
    """Returns {name: tensor} of the inputs of a SignatureDef, and of its outputs."""
    return [{key: get_tensor_from_tensor_info(info, graph) for key, info in infos.items()}
            for infos in (signature.inputs, signature.outputs)]


def from_saved_model(export_dir, signature_def_key=None, signature_def=None, input_names=None, output_names=None, tags=None,
                     graph=None, config=None, functions=None):
    """Returns the function that a SavedModel is, with its own graph and session.

        predict = tf.contrib.predictor.from_saved_model("exported/1")
        print(predict({"x": [[1.0, 2.0]]})["y"])

    Args:
      export_dir: the folder of the SavedModel.
      signature_def_key: name of the signature, "serving_default" without it.
      signature_def: the signature itself, instead.
      input_names, output_names: {name: name of a tensor}, instead.
      tags: the tags of the graph, separated by commas; "serve" without it.
      graph: the graph to load into, a new one without it.
      config: for the session.
      functions: {name: function} that its nodes may call; see `tf.import_graph_def`.

    Raises:
      ValueError: a signature is given in several ways, or there is none of this name.
      OSError, RuntimeError: as `tf.saved_model.loader.load`.
    """
    return SavedModelPredictor(export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config,
                               functions)


def from_estimator(estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
    """Returns a Predictor of an estimator's latest checkpoint.

    Args:
      estimator: a `tf.estimator.Estimator`.
      serving_input_receiver_fn: function that returns a `tf.estimator.export.ServingInputReceiver`.
      output_key: name of one of the model's `export_outputs`; the default one where it is missing.
      graph, config: of the session.

    Raises:
      KeyError: there are no such outputs.
      ValueError: there is no checkpoint, or the outputs cannot be had of what is received.
    """
    from regrad.estimator.export import outputs_of
    from regrad.estimator.spec import ModeKeys
    from regrad.train.monitored import ChiefSessionCreator, MonitoredSession

    path = estimator.latest_checkpoint()
    if path is None:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    graph = graph or Graph()
    with graph.as_default():
        get_or_create_global_step(graph)
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        signature = outputs_of(spec)[output_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY].as_signature_def(
            receiver.receiver_tensors)
        feeds, fetches = _tensors_of(signature, graph)
        session = MonitoredSession(ChiefSessionCreator(spec.scaffold, config=config, checkpoint_filename_with_path=path))
    return Predictor(session, feeds, fetches)
