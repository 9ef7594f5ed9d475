"""Exporters: what `train_and_evaluate` exports after its evaluations."""

import glob
import os

from regrad import logging
from regrad.core.files import remove_folder
from regrad.core.shown import Shown
from regrad.estimator.early_stopping import read_eval_metrics


class Exporter(Shown):
    """Base class: `name`, and `export`."""

    name = None

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Exports a checkpoint below `export_path`; returns the folder as bytes, or None where there is no reason to."""
        raise NotImplementedError


class _Saving(Exporter):
    """What the exporters have in common."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep=None):
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be positive number. Got "
                             f"{exports_to_keep}")
        self.name, self._receive, self._assets, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text
        self._keep = exports_to_keep

    def _save(self, estimator, export_path, checkpoint_path):
        made = estimator.export_saved_model(export_path, self._receive, self._assets, self._as_text, checkpoint_path)
        if self._keep:
            kept = sorted((n for n in os.listdir(export_path) if n.isdigit()), key=int)
            for old in kept[:-self._keep]:
                remove_folder(os.path.join(export_path, old))
        return made


class FinalExporter(_Saving):
    """Exports at the end."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._save(estimator, export_path, checkpoint_path)


class LatestExporter(_Saving):
    """Exports after each evaluation, and keeps the last `exports_to_keep`; None keeps all."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False, exports_to_keep=5):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        return self._save(estimator, export_path, checkpoint_path)


def _smaller_loss(best_eval_result, current_eval_result):
    return current_eval_result["loss"] < best_eval_result["loss"]


class BestExporter(_Saving):
    """Exports after an evaluation that is better than all before, and keeps the last `exports_to_keep`."""

    def __init__(self, name="best_exporter", serving_input_receiver_fn=None, event_file_pattern="eval/*.tfevents.*",
                 compare_fn=_smaller_loss, assets_extra=None, as_text=False, exports_to_keep=5):
        """Args:
          event_file_pattern: of the files, below the model's folder, in which earlier evaluations are; None for none.
          compare_fn: function of (best_eval_result, current_eval_result), dictionaries, that says whether the second is better.
        """
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        self._pattern, self._is_better = event_file_pattern, compare_fn
        self._best = None

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if self._best is None and self._pattern and os.path.isdir(export_path) and os.listdir(export_path):
            self._best = self._of_files(os.path.join(estimator.model_dir, self._pattern))
        if self._best is not None and not self._is_better(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        logging.info("Performing best model export.")
        self._best = eval_result
        return self._save(estimator, export_path, checkpoint_path)

    def _of_files(self, pattern):
        """Returns the best of the earlier evaluations, or None."""
        best = None
        for folder in sorted({os.path.dirname(path) for path in glob.glob(pattern)}):
            for found in list(read_eval_metrics(folder).values())[:-1]:  # the last is the one that is looked at
                if best is None or self._is_better(best_eval_result=best, current_eval_result=found):
                    best = found
        return best
