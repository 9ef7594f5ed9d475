"""`tf.keras.callbacks`: what `Model.fit` and its kin call between batches and epochs."""

import csv
import logging
import os
from collections.abc import Iterable

import numpy as np

from regrad.core.arguments import unexpected
from regrad.core.shown import Shown
from regrad.keras import backend
from regrad.keras.utils import Progbar

_logger = logging.getLogger("tensorflow")


class Callback(Shown):
    """Base of callbacks: a subclass has those of the methods that it wants to be called.

    Attributes:
      model: the model; `model.stop_training = True` stops after the batch.
      params: dict with "epochs", "steps", "samples", "batch_size", "verbose", "do_validation" and "metrics".
    """

    def __init__(self):
        self.validation_data = self.model = self.params = None

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_epoch_begin(self, epoch, logs=None):
        """Called before each epoch of training, counted from 0."""

    def on_epoch_end(self, epoch, logs=None):
        """Called after each epoch, with the losses and metrics of training, and with "val_" those of validation."""

    def on_batch_begin(self, batch, logs=None):
        """An older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch, logs=None):
        """An older name of `on_train_batch_end`."""

    def on_train_batch_begin(self, batch, logs=None):
        """Called before each batch of training; `logs` have "batch" and "size"."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch, logs=None):
        """Called after each batch of training; `logs` have losses and metrics too."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch, logs=None):
        pass

    def on_test_batch_end(self, batch, logs=None):
        pass

    def on_predict_batch_begin(self, batch, logs=None):
        pass

    def on_predict_batch_end(self, batch, logs=None):
        """Called after each batch of `predict`; `logs` have "outputs" too."""

    def on_train_begin(self, logs=None):
        pass

    def on_train_end(self, logs=None):
        pass

    def on_test_begin(self, logs=None):
        pass

    def on_test_end(self, logs=None):
        pass

    def on_predict_begin(self, logs=None):
        pass

    def on_predict_end(self, logs=None):
        pass


class CallbackList(Shown):
    """Callbacks that are called together, in order."""

    def __init__(self, callbacks=None):
        self.callbacks = list(callbacks or ())

    def append(self, callback):
        self.callbacks.append(callback)

    def set_params(self, params):
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def __iter__(self):
        return iter(self.callbacks)


def _of_all(name):
    def call(self, *args, **kwargs):
        for callback in self.callbacks:
            getattr(callback, name)(*args, **kwargs)

    call.__name__ = name
    return call


for _name in [n for n in vars(Callback) if n.startswith("on_")]:
    setattr(CallbackList, _name, _of_all(_name))


class BaseLogger(Callback):
    """Part of every `fit`, whose logs are means over an epoch already.

    Args:
      stateful_metrics: accepted.
    """

    def __init__(self, stateful_metrics=None):
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())


class History(Callback):
    """What `fit` returns: `history` is {name: [value of each epoch]}, `epoch` the numbers of the epochs."""

    def __init__(self):
        super().__init__()
        self.history = {}

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class ProgbarLogger(Callback):
    """Shows on standard output how far an epoch is, and its losses and metrics.

    Args:
      count_mode: "samples" or "steps".
      stateful_metrics: names of values that are shown as they are, not averaged.
    """

    def __init__(self, count_mode="samples", stateful_metrics=None):
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps, self.stateful_metrics, self._mode = count_mode == "steps", set(stateful_metrics or ()), None

    def _begin(self, mode):
        if self._mode is None:
            self._mode = mode
            if mode != "train":
                self._start()

    def _start(self):
        target = self.params["steps" if self.use_steps else "samples"]
        self._seen, self._last = 0, {}
        self._bar = Progbar(target, verbose=self.params["verbose"], stateful_metrics=self.stateful_metrics,
                            unit_name="step" if self.use_steps else "sample")

    def _step(self, mode, logs):
        if mode == self._mode:  # the batches of validation are not shown
            self._seen += 1 if self.use_steps else logs.get("size", 0)
            self._last = {name: logs[name] for name in self.params["metrics"] if name in logs}
            if self._bar.target is None or self._seen < self._bar.target:
                self._bar.update(self._seen, list(self._last.items()), finalize=False)

    def _end(self, logs):
        values = [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        self._bar.stateful_metrics.update(name for name, _ in values)
        self._bar.update(self._seen, values, finalize=True)

    def on_train_begin(self, logs=None):
        self._mode = "train"

    def on_epoch_begin(self, epoch, logs=None):
        if self.params["epochs"] > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._start()

    def on_epoch_end(self, epoch, logs=None):
        self._end(logs or {})

    def on_test_begin(self, logs=None):
        self._begin("test")

    def on_predict_begin(self, logs=None):
        self._begin("predict")

    def on_test_end(self, logs=None):
        if self._mode == "test":
            self._end(self._last)

    def on_predict_end(self, logs=None):
        if self._mode == "predict":
            self._end({})

    def on_train_batch_end(self, batch, logs=None):
        self._step("train", logs)

    def on_test_batch_end(self, batch, logs=None):
        self._step("test", logs)

    def on_predict_batch_end(self, batch, logs=None):
        self._step("predict", logs)


class TerminateOnNaN(Callback):
    """Stops training when the loss of a batch is NaN or infinite."""

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class _Watching(Callback):
    """Compares a value of each epoch with the best so far.

    Args:
      monitor: its name.
      mode: "min", "max", or "auto", which takes accuracies to be better when larger.
      min_delta: by how much a better value must be better.
    """

    def __init__(self, monitor, mode, min_delta=0.0, larger=("acc", "auc", "fmeasure")):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            _logger.warning("%s mode %s is unknown, fallback to auto mode.", type(self).__name__, mode)
            mode = "auto"
        grows = mode == "max" or mode == "auto" and (any(word in monitor for word in larger) or monitor.startswith("fmeasure"))
        self.monitor, self.monitor_op, self.min_delta = monitor, np.greater if grows else np.less, abs(min_delta)
        self._worst = -np.inf if grows else np.inf

    def _better(self, current, best):
        nearer = -self.min_delta if self.monitor_op is np.greater else self.min_delta
        return bool(self.monitor_op(current + nearer, best))

    def _value(self, logs, what):
        value = (logs or {}).get(self.monitor)
        if value is None:
            _logger.warning("%s conditioned on metric `%s` which is not available. Available metrics are: %s",
                            what, self.monitor, ",".join(logs or ()))
        return value


class EarlyStopping(_Watching):
    """Stops training when a value has not become better for `patience` epochs.

    Args:
      monitor, mode, min_delta: the value, and what is better.
      baseline: what the value must be better than at first.
      restore_best_weights: give the model the variables of the best epoch when it stops.
    """

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False):
        super().__init__(monitor, mode, min_delta, larger=("acc",))
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.best_weights, self.wait, self.stopped_epoch = restore_best_weights, None, 0, 0

    def on_train_begin(self, logs=None):
        self.wait = self.stopped_epoch = 0
        self.best, self.best_weights = self._worst if self.baseline is None else self.baseline, None

    def on_epoch_end(self, epoch, logs=None):
        current = self._value(logs, "Early stopping")
        if current is None:
            return
        if self._better(current, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs):
        return self._value(logs, "Early stopping")


class ModelCheckpoint(_Watching):
    """Saves the model, or its weights, after epochs.

    Args:
      filepath: may name `epoch` (from 1) and values: "w.{epoch:02d}-{val_loss:.2f}".
      save_best_only: only where the value `monitor` is better than all before; `mode` says what is.
      save_weights_only: `Model.save_weights` in place of `Model.save`.
      save_freq: "epoch", or a number of samples after which to save.
      period: save every so many epochs (an older argument).
    """

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", period=1, load_weights_on_restart=False):
        super().__init__(monitor, mode, larger=("acc",))
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.filepath, self.verbose, self.save_best_only = os.fspath(filepath), verbose, save_best_only
        self.save_weights_only, self.save_freq, self.period = save_weights_only, save_freq, period
        self.load_weights_on_restart = load_weights_on_restart
        self.epochs_since_last_save = self._samples = self._epoch = 0
        self.best = self._worst

    def on_train_begin(self, logs=None):
        if self.load_weights_on_restart and (os.path.exists(self.filepath) or os.path.exists(self.filepath + ".index")):
            self.model.load_weights(self.filepath)

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_batch_end(self, batch, logs=None):
        if isinstance(self.save_freq, int):
            self._samples += (logs or {}).get("size", 1)
            if self._samples >= self.save_freq:
                self._samples = 0
                self._save(self._epoch, logs or {})

    def on_epoch_end(self, epoch, logs=None):
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self._save(epoch, logs or {})

    def _save(self, epoch, logs):
        try:
            path = self.filepath.format(epoch=epoch + 1, **logs)
        except KeyError as error:
            raise KeyError(f'Failed to format this callback filepath: "{self.filepath}". There is no {error}; there are epoch, '
                           f"{', '.join(logs)}.") from None
        if self.save_best_only:
            current = self._value(logs, "Can save best model only with")
            if current is None:
                return
            if not self._better(current, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {current:0.5f}, saving model "
                      f"to {path}")
            self.best = current
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


def _rate(callback):
    """Returns the variable of the learning rate; ValueError where the optimizer has none."""
    if not hasattr(callback.model.optimizer, "lr"):
        raise ValueError('Optimizer must have a "lr" attribute, as those of tf.keras.optimizers do; got '
                         f"{callback.model.optimizer!r}.")
    return callback.model.optimizer.lr


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
      schedule: function from the epoch's number, from 0 on, and perhaps the learning rate, to the new one, a float.
    """

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        rate = _rate(self)
        try:
            new = self.schedule(epoch, float(backend.get_value(rate)))
        except TypeError:
            new = self.schedule(epoch)
        if not isinstance(new, (float, np.floating)):
            raise ValueError(f'The output of the "schedule" function should be float, got {new!r}.')
        backend.set_value(rate, new)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler setting learning rate to {new}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = backend.get_value(_rate(self))


class ReduceLROnPlateau(_Watching):
    """Multiplies the learning rate by `factor` when a value has not become better for `patience` epochs.

    Args:
      monitor, mode, min_delta: the value, and what is better.
      cooldown: epochs after that in which nothing counts.
      min_lr: the learning rate stays above it.
    """

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0,
                 min_lr=0, **kwargs):
        super().__init__(monitor, mode, kwargs.pop("epsilon", min_delta), larger=("acc",))
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if kwargs:
            raise unexpected(ReduceLROnPlateau, kwargs)
        self.factor, self.patience, self.verbose, self.cooldown, self.min_lr = factor, patience, verbose, cooldown, min_lr
        self.on_train_begin()

    def on_train_begin(self, logs=None):
        self.best, self.wait, self.cooldown_counter = self._worst, 0, 0

    def on_epoch_end(self, epoch, logs=None):
        logs = logs if logs is not None else {}
        rate = _rate(self)
        logs["lr"] = backend.get_value(rate)
        current = self._value(logs, "Reduce LR on plateau")
        if current is None:
            return
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self._better(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            old = float(logs["lr"])
            if self.wait >= self.patience and old > self.min_lr:
                new = max(old * self.factor, self.min_lr)
                backend.set_value(rate, new)
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
                self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self):
        return self.cooldown_counter > 0


class CSVLogger(Callback):
    """Writes the values of each epoch into a file, one line each, under a line of names.

    Args:
      separator: between values.
      append: write behind what is there.
    """

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.separator, self.append = filename, separator, append
        self.writer = self.keys = self.csv_file = None

    def on_train_begin(self, logs=None):
        follows = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self.csv_file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")
        self._headed, self.writer = follows, None

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self.writer is None:
            self.keys = sorted(logs)
            self.writer = csv.DictWriter(self.csv_file, ["epoch", *self.keys], delimiter=self.separator)
            if not self._headed:
                self.writer.writeheader()
        shown = {key: _listed(logs[key]) if key in logs else "NA" for key in self.keys}
        self.writer.writerow({"epoch": epoch, **shown})
        self.csv_file.flush()

    def on_train_end(self, logs=None):
        self.csv_file.close()
        self.writer = None


def _listed(value):
    if isinstance(value, str) or np.ndim(value) == 0 or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'


class LambdaCallback(Callback):
    """Calls functions: `on_epoch_begin` and `on_epoch_end` of (epoch, logs), `on_batch_begin` and `on_batch_end` of (batch,
    logs), `on_train_begin` and `on_train_end` of (logs)."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_batch_begin=None, on_batch_end=None, on_train_begin=None,
                 on_train_end=None, **kwargs):
        super().__init__()
        hooks = [name for name in dir(Callback) if name.startswith("on_")]
        if kwargs.keys() - set(hooks):
            raise unexpected(LambdaCallback, sorted(kwargs.keys() - set(hooks)), hooks)
        given = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
                 "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end} | kwargs
        self.__dict__.update({name: function for name, function in given.items() if function is not None})


class TensorBoard(Callback):
    """Writes losses and metrics of epochs for TensorBoard, below `log_dir`/train and `log_dir`/validation.

    Args:
      histogram_freq: write histograms of variables every so many epochs, with 0 none.
      write_graph: write the graph.
      update_freq: "epoch", or "batch", or a number of samples after which values are written, too.
      batch_size, write_grads, write_images, embeddings_*, profile_batch: accepted, without effect.
    """

    def __init__(self, log_dir="./logs", histogram_freq=0, batch_size=32, write_graph=True, write_grads=False,
                 write_images=False, embeddings_freq=0, embeddings_layer_names=None, embeddings_metadata=None,
                 embeddings_data=None, update_freq="epoch", profile_batch=2):
        super().__init__()
        self.log_dir, self.histogram_freq, self.write_graph = os.fspath(log_dir), histogram_freq, write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers, self._samples, self._written = {}, 0, 0

    def _writer(self, name):
        from regrad.train.event_files import FileWriter

        if name not in self._writers:
            graph = backend.get_session().graph if self.write_graph and name == "train" else None
            self._writers[name] = FileWriter(os.path.join(self.log_dir, name), graph)
        return self._writers[name]

    def _write(self, writer, values, step):
        from regrad.core.messages import Summary

        writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=float(v)) for tag, v in values.items()]), step)

    def on_batch_end(self, batch, logs=None):
        if self.update_freq == "epoch":
            return
        self._samples += (logs or {}).get("size", 1)
        if self._samples - self._written >= self.update_freq:
            self._written = self._samples
            self._write(self._writer("train"), {f"batch_{k}": v for k, v in (logs or {}).items() if k not in ("batch", "size")},
                        self._samples)

    def on_epoch_end(self, epoch, logs=None):
        logs = {name: value for name, value in (logs or {}).items() if np.ndim(value) == 0}
        self._write(self._writer("train"), {f"epoch_{k}": v for k, v in logs.items() if not k.startswith("val_")}, epoch)
        tested = {f"epoch_{k[4:]}": v for k, v in logs.items() if k.startswith("val_")}
        if tested:
            self._write(self._writer("validation"), tested, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._histograms(epoch)
        for writer in self._writers.values():
            writer.flush()

    def _histograms(self, epoch):
        from regrad import summary

        if not hasattr(self, "_summaries"):
            with self.model.graph_of_inputs.as_default():
                self._summaries = summary.merge([summary.histogram(v.name.replace(":", "_"), v) for v in self.model.weights])
        self._writer("train").add_summary(backend.get_session().run(self._summaries), epoch)

    def on_train_end(self, logs=None):
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


__all__ = ["BaseLogger", "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau", "TensorBoard", "TerminateOnNaN"]
