"""`compile`, `fit`, `evaluate`, `predict` and their kin: methods of `Model`.

`fit` makes batches of whatever data it was given (`batches.py`), calls the model's function on each (`compiling.py`), and
callbacks in between.
"""

import numpy as np

from regrad.core import nest
from regrad.core.arguments import unexpected
from regrad.core.dtypes import as_dtype
from regrad.core.graph import is_tensor
from regrad.keras import backend, batches, callbacks, compiling, optimizers
from regrad.keras.base import Input, InputLayer
from regrad.keras.compiling import PREDICT, TEST, TRAIN


class Trained:
    """What models have that are trained; `Model` is one."""

    _compiled = None  # a Compiled, when the model has inputs and outputs
    _asked: dict | None = None  # the arguments of `compile`
    _predict = None  # (inputs, function)
    history = None
    stop_training = False

    # -- compile -----------------------------------------------------------------------------------------------
    def compile(self, optimizer="rmsprop", loss=None, metrics=None, loss_weights=None, sample_weight_mode=None,
                weighted_metrics=None, target_tensors=None, distribute=None, **kwargs):
        """Says how the model is trained: by which optimizer, on which loss, and what is measured.

        Args:
          optimizer: one of `tf.keras.optimizers` or `tf.train`, or a name ("adam").
          loss: a name ("mse"), a function of (y_true, y_pred), or a `tf.keras.losses.Loss`; of several outputs a list or dict
            by name, in which None leaves an output untrained. Losses of `add_loss` and of regularizers are added.
          metrics: names ("accuracy"), functions of (y_true, y_pred), or metrics; for several outputs a list of lists or dict.
          loss_weights: factors of the outputs' losses, a list or dict.
          sample_weight_mode: "temporal" where weights of samples are [batch, time], else None.
          weighted_metrics: as `metrics`, of samples that count by their weights.
          target_tensors: tensors to take in place of arrays for targets.
          **kwargs: what `tf.keras.backend.function` takes: feed_dict, fetches, options, run_metadata.

        Raises:
          ValueError: a name that there is not, another number of losses than outputs, or no loss at all. The model is as it
            was before, also where it was compiled.
        """
        backend.check_session_arguments(Trained.compile, kwargs)
        optimizer = optimizers.get(optimizer)
        if distribute is not None:
            raise ValueError("compile: `distribute` is not supported; one process computes.")
        compiling.check_names(loss, metrics, weighted_metrics)
        asked = {"optimizer": optimizer, "loss": loss, "metrics_given": metrics, "loss_weights": loss_weights,
                 "modes": sample_weight_mode, "weighted_metrics": weighted_metrics, "target_tensors": target_tensors,
                 "session_kwargs": kwargs}
        compiled = None if self.inputs is None else self._compiled_with(asked)
        self.optimizer, self.loss, self._asked, self._compiled = optimizer, loss, asked, compiled

    def _compiled_with(self, asked):
        with self.graph_of_inputs.as_default():
            compiled = compiling.Compiled(self, **asked)
            compiled.parts(False)
        return compiled

    def _ready(self, x, needs_compile=True):
        """Makes inputs and outputs like the data where the model has none yet."""
        if needs_compile and self._asked is None:
            raise RuntimeError("You must compile a model before training/testing. Use `model.compile(optimizer, loss)`.")
        if self.inputs is None:
            self._begin_with(x)
        if needs_compile and self._compiled is None:
            self._compiled = self._compiled_with(self._asked)

    def _begin_with(self, x):
        """Calls the model with placeholders like `x`: an array, or a list or dict of arrays."""
        if x is None:
            raise ValueError("The model has no inputs yet, and no data says what they are.")
        flat = nest.flatten(x)
        if isinstance(x, (list, tuple)) and flat and np.ndim(flat[0]) == 0 and not is_tensor(flat[0]):
            x, flat = np.asarray(x), [np.asarray(x)]
        names = sorted(x) if isinstance(x, dict) else [None] * len(flat)
        made = []
        for one, name in zip(flat, names):
            one = one if is_tensor(one) else np.asarray(one)
            dims = one.shape.as_list() if is_tensor(one) else list(one.shape)
            dtype = as_dtype(one.dtype)
            made.append(Input(dims[1:] if len(dims) > 1 else [1], name=name,
                              dtype=backend.floatx() if dtype.is_floating else dtype))
        self._call_first(nest.pack_sequence_as(x, made) if nest.is_sequence(x) else made[0])

    def _call_first(self, inputs):
        training = {"training": backend.learning_phase()} if compiling.takes_training(self) else {}
        outputs = self(inputs, **training)
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]

    graph_of_inputs = property(lambda self: self.inputs[0].graph, doc="The graph that the model is in.")
    fed_inputs = property(lambda self: [t for t in self.inputs if compiling.is_fed(t)])

    @property
    def input_names(self):
        """The names by which arrays for inputs may be given."""
        return [t._keras_history[0].name if isinstance(getattr(t, "_keras_history", (None,))[0], InputLayer) else t.op.name
                for t in self.inputs]

    @property
    def output_names(self):
        """The names by which arrays for outputs, losses and metrics may be given: those of the layers that make them."""
        if getattr(self, "_output_names", None):
            return list(self._output_names)
        return compiling.named([t._keras_history[0].name for t in self.outputs])

    @property
    def metrics(self):
        """The metrics that `compile` was given, and those of layers."""
        return [] if self._compiled is None else self._compiled.metrics

    @property
    def metrics_names(self):
        """The names of what `evaluate` and `train_on_batch` return."""
        if self._compiled is None:
            return ["loss"] if self._asked is None else []
        return self._compiled.metrics_names

    @property
    def total_loss(self):
        """The tensor of the loss that is trained."""
        return self._compiled.parts(False)[0]

    @property
    def targets(self):
        """The tensors of what outputs should be."""
        return [e.target for e in self._compiled.trained]

    @property
    def sample_weights(self):
        """The placeholders of weights of samples."""
        return [e.sample_weight for e in self._compiled.trained]

    def reset_metrics(self):
        """Makes all metrics begin anew."""
        if self._compiled is not None:
            self._compiled.reset_metrics()

    # -- data ----------------------------------------------------------------------------------------------------
    def _inputs_of(self, x):
        """Returns arrays for the inputs that are fed."""
        pairs = [(t, name) for t, name in zip(self.inputs, self.input_names) if compiling.is_fed(t)]
        if isinstance(x, dict) and set(x) != {name for _, name in pairs} and len(x) == len(pairs) and self._names_are_made:
            x = nest.flatten(x)
        shapes = [None if t.rank is None else tuple(t.shape.as_list()) for t, _ in pairs]
        return batches.matched(x, [name for _, name in pairs], shapes, "input")

    _names_are_made = property(lambda self: bool(getattr(self, "_output_names", None)))  # a model of the program's own class

    def _arranged(self, x, y=None, sample_weight=None, class_weight=None):
        """Returns (arrays for a function, whether weights of samples are among them)."""
        self._ready(x)
        compiled = self._compiled
        inputs, fed = self._inputs_of(x), compiled.fed_targets
        y = y if fed else None
        if isinstance(y, dict):
            unknown = set(y) - set(self.output_names)
            if unknown:
                raise ValueError(f"Unknown entries in data for targets: {sorted(unknown)}. Only expected following keys: "
                                 f"{self.output_names}")
        elif isinstance(y, (list, tuple)) and len(y) == len(compiled.endpoints) != len(fed):
            y = [one for one, e in zip(y, compiled.endpoints) if e in fed]
        targets = batches.matched(y, [e.name for e in fed], [e.target_shape for e in fed], "target")
        for e, target in zip(fed, targets):
            _check_classes(e, target)
        trained = compiled.trained
        of_targets = dict(zip(fed, targets))
        weights = batches.sample_weights(sample_weight, class_weight, trained,
                                         [of_targets.get(e, inputs[0] if inputs else None) for e in trained])
        batches.check_lengths(inputs, targets, weights)
        return [*inputs, *targets, *(weights or [])], weights is not None

    def _batch_size(self, given):
        """Returns the batch size: what is given, or the one that the inputs ask for, else 32."""
        sizes = {t.dims[0] for t in self.inputs if t.rank} - {None}
        if given is not None and sizes and sizes != {given}:
            raise ValueError(f"The `batch_size` argument value {given} is incompatible with the specified batch size of your "
                             f"Input Layer: {sizes.pop()}")
        return given or (sizes.pop() if sizes else 32)

    def _source(self, x, y, sample_weight, class_weight, batch_size, shuffle, steps, steps_name, mode=TRAIN):
        """Returns the batches of some data."""
        def arranged(x, y=None, w=None):
            if mode == PREDICT:
                self._ready(x, needs_compile=False)
                return self._inputs_of(x), False
            return self._arranged(x, y, w, class_weight)

        if batches.is_stream(x):
            if y is not None or sample_weight is not None:
                raise ValueError(f"`y` and `sample_weight` arguments are not supported when `x` is a {type(x).__name__}: it "
                                 "gives tuples (x, y) or (x, y, weights).")
            found = batches.stream(x, arranged, steps, shuffle, steps_name)
            self._ready(found.first if self.inputs is None else None, needs_compile=mode != PREDICT)
            found.anew = mode == TEST
            return found
        if batches.has_tensors(x, y, sample_weight):
            self._ready(x, needs_compile=mode != PREDICT)
            return batches.of_tensors((x, y, sample_weight), arranged, steps, steps_name)
        arrays, weighted = arranged(x, y, sample_weight)
        if not arrays and steps is None:
            raise ValueError(f"The model takes all its data from tensors: `{steps_name}` says how many runs of them make an "
                             "epoch; give it.")
        batch_size = self._batch_size(batch_size)
        if getattr(self, "stateful", False) and steps is None and len(arrays[0]) % batch_size:
            raise ValueError("In a stateful network, you should only pass inputs with a number of samples that can be divided "
                             f"by the batch size. Found: {len(arrays[0])} samples")
        return batches.Arrays(arrays, weighted, batch_size, shuffle, steps)

    @property
    def stateful(self):
        """Whether a layer keeps states between batches."""
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    def reset_states(self):
        """Makes the states of stateful layers begin anew."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    # -- loops ---------------------------------------------------------------------------------------------------
    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose=1, callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0, steps_per_epoch=None,
            validation_steps=None, validation_freq=1, max_queue_size=10, workers=1, use_multiprocessing=False, **kwargs):
        """Trains the model, and returns a `History`: `history.history` is {name: [value of each epoch]}.

        Args:
          x: inputs: an array, or a list or dict by name; tensors; or a generator, Sequence, dataset or iterator that gives
            tuples (x, y) or (x, y, weights).
          y: targets, likewise.
          batch_size: 32 by default, for arrays.
          epochs: the number of the last epoch; `initial_epoch` is that of the first, 0.
          verbose: 1 shows a bar, 2 a line an epoch, 0 nothing.
          validation_split: the part of arrays, at their end, that is tested on after each epoch, and not trained on.
          validation_data: what is tested on: (x, y), (x, y, weights), or what gives batches; `validation_steps` of them.
          validation_freq: test every so many epochs, or after the epochs of a list, counted from 1.
          shuffle: whether samples, or batches of a Sequence, come in random order, by NumPy's global stream (Python's).
          class_weight: {class: weight} of samples; `sample_weight` an array of weights.
          steps_per_epoch: how many batches make an epoch, for what gives batches; of a dataset all by default.
          max_queue_size, workers, use_multiprocessing: accepted: a batch is made when it is asked for.

        Raises:
          RuntimeError: the model was not compiled.
          ValueError: data that do not fit.
        """
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise unexpected(Trained.fit, kwargs)
        if not batches.is_stream(x):
            self._ready(x)
        of_tests = None
        if validation_split and validation_data is None:
            if batches.is_stream(x) or batches.has_tensors(x):
                raise ValueError("`validation_split` is only supported for arrays; give `validation_data`.")
            if not 0 < validation_split < 1:
                raise ValueError(f"validation_split must be between 0 and 1, got {validation_split}.")
            (x, y, sample_weight), validation_data = _split((x, y, sample_weight), validation_split)
            of_tests = class_weight  # as TensorFlow weighs the part that was split off
        source = self._source(x, y, sample_weight, class_weight, batch_size, shuffle, steps_per_epoch, "steps_per_epoch")
        testing = None
        if validation_data is not None:
            testing = self._testing(validation_data, of_tests, batch_size, validation_steps)
        return self._loop(TRAIN, source, callbacks, verbose, epochs, initial_epoch, testing, validation_freq)

    def _testing(self, data, class_weight, batch_size, steps):
        if batches.is_stream(data):
            return self._source(data, None, None, None, batch_size, False, steps, "validation_steps", TEST)
        if not isinstance(data, (list, tuple)) or len(data) not in (2, 3):
            raise ValueError("When passing a `validation_data` argument, it must contain either 2 items (x_val, y_val), or 3 "
                             f"items (x_val, y_val, val_sample_weights), or give batches, got {type(data).__name__}.")
        return self._source(data[0], data[1], data[2] if len(data) == 3 else None, class_weight, batch_size, False, steps,
                            "validation_steps", TEST)

    def evaluate(self, x=None, y=None, batch_size=None, verbose=1, sample_weight=None, steps=None, callbacks=None,
                 max_queue_size=10, workers=1, use_multiprocessing=False):
        """Returns the loss, and metrics if there are any (a list, in the order of `metrics_names`); arguments as for `fit`."""
        if not batches.is_stream(x):
            self._ready(x)
        source = self._source(x, y, sample_weight, None, batch_size, False, steps, "steps", TEST)
        return self._loop(TEST, source, callbacks, verbose)

    def predict(self, x, batch_size=None, verbose=0, steps=None, callbacks=None, max_queue_size=10, workers=1,
                use_multiprocessing=False):
        """Returns the outputs for all samples: an array, or a list of one for each output; arguments as for `fit`."""
        if not batches.is_stream(x):
            self._ready(x, needs_compile=False)
        source = self._source(x, None, None, None, batch_size, False, steps, "steps", PREDICT)
        return self._loop(PREDICT, source, callbacks, verbose)

    def _function(self, mode, weighted=False):
        if mode != PREDICT:
            return self._compiled.function(mode, weighted)
        if self._predict is None or self._predict[0] != self.outputs:
            with self.graph_of_inputs.as_default():
                kwargs = self._asked["session_kwargs"] if self._asked else {}
                self._predict = list(self.outputs), compiling.run_function(
                    self.fed_inputs, self.outputs, compiling.state_updates(self), PREDICT, kwargs)
        return self._predict[1]

    def _loop(self, mode, source, given_callbacks=None, verbose=0, epochs=1, initial_epoch=0, testing=None, validation_freq=1):
        called = self._callbacks(given_callbacks, mode, source, verbose, epochs, testing)
        self.stop_training = False
        if mode == TRAIN and verbose and source.samples:
            print(f"Train on {source.samples} samples"
                  + (f", validate on {testing.samples} samples" if testing is not None and testing.samples else ""))
        getattr(called, f"on_{mode}_begin")()
        found, logs = None, {}
        for epoch in range(initial_epoch if mode == TRAIN else 0, epochs):
            if self.stop_training and mode == TRAIN:
                break
            logs = {}
            if mode == TRAIN:
                called.on_epoch_begin(epoch, logs)
            found = self._epoch(mode, source, called)
            if mode != PREDICT:
                logs.update(zip(self.metrics_names, found))
            if testing is not None and not self.stop_training and _tested(validation_freq, epoch):
                called.on_test_begin()
                tested = self._epoch(TEST, testing, called)
                called.on_test_end()
                logs.update((f"val_{name}", value) for name, value in zip(self.metrics_names, tested))
            if mode == TRAIN:
                called.on_epoch_end(epoch, logs)
        getattr(called, f"on_{mode}_end")()
        if mode == TRAIN:
            return self.history
        return found[0] if len(found) == 1 else found

    def _epoch(self, mode, source, called):
        """Runs all batches once; returns what they gave: means of losses and the last values of metrics, or outputs, joined."""
        if mode != PREDICT:
            self.reset_metrics()
        kept, total, n, last, names = [], 0.0, 0, None, ()
        begin, end = (getattr(called, f"on_{mode}_batch_{when}") for when in ("begin", "end"))
        try:
            for i, (arrays, weighted, size) in enumerate(source.epoch()):
                logs = {"batch": i, "size": size if source.samples else 1}
                begin(i, logs)
                gave = self._function(mode, weighted)(arrays)
                if mode == PREDICT:
                    kept.append(gave)
                    logs["outputs"] = gave
                else:
                    counted = size if source.samples else 1
                    total, n, last = total + float(gave[0]) * counted, n + counted, [float(v) for v in gave]
                    names = names or self.metrics_names
                    logs.update(zip(names, last))
                end(i, logs)
                if self.stop_training and mode == TRAIN:
                    break
        except batches.RanOut as error:
            if mode != TRAIN and not kept and last is None:
                raise ValueError(str(error)) from None
            compiling.warn(str(error))
            self.stop_training = True
        if mode == PREDICT:
            if not kept:
                raise ValueError("predict: there are no samples.")
            return [np.concatenate(parts) if np.ndim(parts[0]) else np.stack(parts) for parts in zip(*kept)]
        if last is None:
            raise ValueError("There are no batches: the data are empty, or ran out.")
        return [total / n, *last[1:]]

    def _callbacks(self, given, mode, source, verbose, epochs, testing):
        if isinstance(given, callbacks.CallbackList):
            return given
        given = list(given or ()) if not isinstance(given, callbacks.Callback) else [given]
        steps = source.steps if source.samples is None else None
        names = self.metrics_names if mode != PREDICT else []
        shown = [*names, *(f"val_{name}" for name in names if mode == TRAIN and testing is not None)]
        if verbose:
            given.insert(0, callbacks.ProgbarLogger("samples" if source.samples else "steps", names[1:]))
        if mode == TRAIN:
            self.history = callbacks.History()
            given.append(self.history)
        made = callbacks.CallbackList(given)
        made.set_model(self)
        made.set_params({"batch_size": getattr(source, "batch_size", None), "epochs": epochs, "steps": steps,
                         "samples": source.samples, "verbose": verbose, "do_validation": testing is not None,
                         "metrics": shown})
        return made

    def _make_train_function(self):
        self._function(TRAIN)

    def _make_test_function(self):
        self._function(TEST)

    def _make_predict_function(self):
        """Programs call it before threads call `predict`."""
        self._function(PREDICT)

    # -- single batches --------------------------------------------------------------------------------------------
    def _on_batch(self, mode, x, y, sample_weight, class_weight, reset_metrics):
        self._ready(x)
        if batches.has_tensors(x, y, sample_weight):
            x, y, sample_weight = batches.evaluated((x, y, sample_weight))
        arrays, weighted = self._arranged(x, y, sample_weight, class_weight)
        found = self._function(mode, weighted)(arrays)
        if reset_metrics:
            self.reset_metrics()
        return found[0] if len(found) == 1 else found

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True):
        """Makes one step; returns the loss of the batch before it, and metrics if there are any; arguments as for `fit`.

        Args:
          reset_metrics: False adds the batch to what metrics had of earlier ones.
        """
        return self._on_batch(TRAIN, x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True):
        """Returns the loss of a batch, and metrics if there are any; arguments as for `train_on_batch`."""
        return self._on_batch(TEST, x, y, sample_weight, None, reset_metrics)

    def predict_on_batch(self, x):
        """Returns the outputs for a batch."""
        self._ready(x, needs_compile=False)
        if batches.has_tensors(x):
            (x,) = batches.evaluated((x,))
        found = self._function(PREDICT)(self._inputs_of(x))
        return found[0] if len(found) == 1 else found

    # -- older names -------------------------------------------------------------------------------------------------
    def fit_generator(self, generator, steps_per_epoch=None, epochs=1, verbose=1, callbacks=None, validation_data=None,
                      validation_steps=None, validation_freq=1, class_weight=None, max_queue_size=10, workers=1,
                      use_multiprocessing=False, shuffle=True, initial_epoch=0):
        """`fit` with a generator or Sequence."""
        return self.fit(generator, steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=verbose, callbacks=callbacks,
                        validation_data=validation_data, validation_steps=validation_steps, validation_freq=validation_freq,
                        class_weight=class_weight, shuffle=shuffle, initial_epoch=initial_epoch)

    def evaluate_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False,
                           verbose=0):
        """`evaluate` with a generator or Sequence."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False,
                          verbose=0):
        """`predict` with a generator or Sequence."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)


def _split(arrays, part):
    """Returns ((x, y, weights), (x, y, weights)): the beginnings of arrays, and the part at their end."""
    flat = [leaf for one in arrays for leaf in nest.flatten(one) if leaf is not None]
    n = len(flat[0])
    at = int(n * (1.0 - part))
    if at in (0, n):
        raise ValueError(f"Training data contains {n} samples, which is not sufficient to split it into a validation and "
                         f"training set as specified by `validation_split={part}`.")

    def cut(rows):
        return tuple(nest.map_structure(lambda a: None if a is None else a[rows], one) for one in arrays)

    return cut(slice(0, at)), cut(slice(at, n))


def _tested(freq, epoch):
    return epoch + 1 in freq if isinstance(freq, (list, tuple, set)) else (epoch + 1) % freq == 0


def _check_classes(endpoint, target):
    """Raises ValueError for labels that a cross entropy cannot take."""
    function = getattr(endpoint.loss, "function", None)
    if function is compiling.losses.categorical_crossentropy and target.shape[-1] == 1 and target.ndim > 1:
        raise ValueError(f"You are passing a target array of shape {target.shape} while using as loss "
                         "`categorical_crossentropy`. It expects targets to be binary matrices (1s and 0s) of shape (samples, "
                         "classes): use `tf.keras.utils.to_categorical`, or the loss `sparse_categorical_crossentropy`.")
