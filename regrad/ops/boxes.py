"""Boxes in images: choosing among overlapping ones, and drawing them. On the host; nothing here has a gradient.

A box is y1, x1, y2, x2: two opposite corners, in any order.
"""

import collections
import heapq

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import compatible


def overlaps(boxes):
    """Returns the matrix of intersections over unions of boxes [n, 4]; 0 for boxes without area."""
    boxes = np.asarray(boxes, np.float32)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = (high - low).prod(1)
    shared = np.maximum(np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None]), 0).prod(2)
    valid = (area > 0)[:, None] & (area > 0)[None]
    return np.where(valid, shared / np.where(valid, area[:, None] + area[None] - shared, np.float32(1)), np.float32(0))


def choose(similarity, scores, limit, threshold, score_threshold, sigma=0.0):
    """Returns (indices, scores) of the chosen, best first.

    One that overlaps a chosen one by more than `threshold` is left out; with `sigma` > 0 its score is made smaller by a
    Gaussian of the overlap instead (Bodla et al. 2017, arXiv 1704.04503). Equal scores: the lower index first.
    """
    single = np.float32
    scale = single(-0.5 / sigma) if sigma > 0 else single(0)
    queue = [(-single(s), i, 0) for i, s in enumerate(scores) if s > score_threshold]
    heapq.heapify(queue)
    chosen, kept = [], []
    while queue and len(chosen) < limit:
        negative, i, seen = heapq.heappop(queue)
        score = original = -negative
        suppressed = False
        for j in reversed(chosen[seen:]):
            overlap = single(similarity[i, j])
            score = score * (np.exp(scale * overlap * overlap) if sigma > 0 or overlap <= threshold else single(0))
            if sigma <= 0 and overlap > threshold:
                suppressed = True
                break
            if score <= score_threshold:
                break
        if suppressed:
            continue
        if score == original:
            chosen.append(i)
            kept.append(score)
        elif score > score_threshold:
            heapq.heappush(queue, (-score, i, len(chosen)))
    return np.array(chosen, np.int32), np.array(kept, np.float32)


def _check(boxes, scores, *scalars):
    for s in scalars:
        rank_is(s, 0, "max_output_size, iou_threshold and score_threshold")
    if boxes.dims is not None and (len(boxes.dims) != 2 or boxes.dims[1] not in (None, 4)):
        raise ShapeError(f"boxes must be [boxes, 4], got {spec_text(boxes)}")
    if scores.dims is not None and len(scores.dims) != 1 or not compatible(
            scores.dims, None if boxes.dims is None else boxes.dims[:1]):
        raise ShapeError(f"scores must be [boxes], got {spec_text(scores)} for boxes {spec_text(boxes)}")


def _thresholds(threshold, limit=0):
    if limit < 0:
        raise InvalidArgumentError(f"max_output_size must be non-negative, got {limit}")
    if not 0 <= threshold <= 1:
        raise InvalidArgumentError("iou_threshold must be in [0, 1]")


def _nms_infer(boxes, scores, *rest, **attrs):
    _check(boxes, scores, *rest)
    return Spec((None,), dtypes.int32)


def _nms_v3(b, boxes, scores, limit, threshold, score_threshold):
    _thresholds(float(threshold), int(limit))
    return choose(overlaps(boxes), scores, int(limit), float(threshold), float(score_threshold))[0]


nonmaxsuppressionv3_op = define_op(
    "NonMaxSuppressionV3", "boxes: T, scores: T, max_output_size: int32, iou_threshold: U, score_threshold: U", host=True,
    types={"T": FLOATING, "U": FLOATING}, infer=_nms_infer, lower=_nms_v3)


def _padded_infer(boxes, scores, max_output_size, *rest, pad_to_max_output_size):
    _check(boxes, scores, max_output_size, *rest)
    limit = max_output_size.partial() if pad_to_max_output_size else None
    return [Spec((limit,), dtypes.int32), Spec((), dtypes.int32)]


def _filled(x, n):
    return np.concatenate([x, np.zeros(n - len(x), x.dtype)])


def _nms_v4(b, boxes, scores, limit, threshold, score_threshold, *, pad_to_max_output_size):
    indices = _nms_v3(b, boxes, scores, limit, threshold, score_threshold)
    return (_filled(indices, int(limit)) if pad_to_max_output_size else indices), np.int32(len(indices))


nonmaxsuppressionv4_op = define_op(
    "NonMaxSuppressionV4", "boxes: T, scores: T, max_output_size: int32, iou_threshold: U, score_threshold: U", host=True,
    types={"T": FLOATING, "U": FLOATING}, infer=_padded_infer, lower=_nms_v4, attrs={"pad_to_max_output_size": False})


def _nms_v5(b, boxes, scores, limit, threshold, score_threshold, sigma, *, pad_to_max_output_size):
    _thresholds(float(threshold), int(limit))
    if sigma < 0:
        raise InvalidArgumentError("soft_nms_sigma must be non-negative")
    indices, kept = choose(overlaps(boxes), scores, int(limit), float(threshold), float(score_threshold), float(sigma))
    count, kept = np.int32(len(indices)), kept.astype(scores.dtype)
    if pad_to_max_output_size:
        indices, kept = _filled(indices, int(limit)), _filled(kept, int(limit))
    return indices, kept, count


def _nms_v5_infer(boxes, scores, *rest, pad_to_max_output_size):
    indices, count = _padded_infer(boxes, scores, *rest, pad_to_max_output_size=pad_to_max_output_size)
    return [indices, Spec(indices.dims, scores.dtype), count]


nonmaxsuppressionv5_op = define_op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T", host=True,
    types={"T": FLOATING}, infer=_nms_v5_infer, lower=_nms_v5, attrs={"pad_to_max_output_size": False})


def _matrix_infer(matrix, scores, *rest):
    if matrix.dims is not None and len(matrix.dims) != 2:
        raise ShapeError(f"overlaps must be [boxes, boxes], got {spec_text(matrix)}")
    return Spec((None,), dtypes.int32)


def _nms_of_matrix(b, matrix, scores, limit, threshold, score_threshold):
    _thresholds(0, int(limit))
    return choose(matrix, scores, int(limit), float(threshold), float(score_threshold))[0]


nonmaxsuppressionwithoverlaps_op = define_op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, score_threshold: float32",
    host=True, infer=_matrix_infer, lower=_nms_of_matrix)


def _combined_infer(boxes, scores, per_class, total, *rest, pad_per_class, clip_boxes):
    for what, t, rank in (("boxes", boxes, 4), ("scores", scores, 3)):
        if t.dims is not None and len(t.dims) != rank:
            raise ShapeError(f"combined_non_max_suppression: {what} must have {rank} axes, got {spec_text(t)}")
    batch = boxes.dims[0] if boxes.dims is not None else None
    size, each = total.partial(), per_class.partial()
    classes = scores.dims[2] if scores.dims is not None else None
    if pad_per_class:
        size = None if None in (size, each, classes) else min(size, each * classes)
    return [Spec((batch, size, 4), dtypes.float32), Spec((batch, size), dtypes.float32),
            Spec((batch, size), dtypes.float32), Spec((batch,), dtypes.int32)]


def _combined_lower(b, boxes, scores, per_class, total, threshold, score_threshold, *, pad_per_class, clip_boxes):
    _thresholds(float(threshold))
    classes, limit = scores.shape[2], int(total)
    size = min(limit, int(per_class) * classes) if pad_per_class else limit
    out = [np.zeros((len(boxes), size, 4), np.float32), np.zeros((len(boxes), size), np.float32),
           np.zeros((len(boxes), size), np.float32), np.zeros(len(boxes), np.int32)]
    for i, (own, marks) in enumerate(zip(boxes, scores)):
        found = []
        for c in range(classes):
            places = own[:, c if own.shape[1] > 1 else 0]
            indices, kept = choose(overlaps(places), marks[:, c], int(per_class), float(threshold), float(score_threshold))
            found += [(-s, len(found) + k, places[j], c) for k, (j, s) in enumerate(zip(indices, kept))]
        best = sorted(found, key=lambda f: f[:2])[:size]
        for k, (negative, _, box, c) in enumerate(best):
            out[0][i, k] = np.clip(box, 0, 1) if clip_boxes else box
            out[1][i, k], out[2][i, k] = -negative, c
        out[3][i] = len(best)
    return tuple(out)


combinednonmaxsuppression_op = define_op(
    "CombinedNonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float32, "
    "score_threshold: float32", host=True, infer=_combined_infer, lower=_combined_lower,
    attrs={"pad_per_class": False, "clip_boxes": True})


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """Returns the indices, int32 [chosen], of boxes that no better one overlaps too much, best first.

    Args:
      boxes: floats [boxes, 4].
      scores: floats [boxes].
      max_output_size: the most to choose, an int32 scalar.
      iou_threshold: the largest intersection over union with a chosen box, in [0, 1].
      score_threshold: only boxes with a larger score.
    """
    return nonmaxsuppressionv3_op(boxes, scores, max_output_size, iou_threshold, score_threshold, name=name)


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                    soft_nms_sigma=0.0, name=None):
    """Returns (indices, scores) of the chosen boxes; `soft_nms_sigma` > 0 lowers scores of overlapping boxes instead of
    leaving the boxes out (Bodla et al. 2017, arXiv 1704.04503). See `non_max_suppression`."""
    indices, kept, _ = nonmaxsuppressionv5_op(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma,
                                              name=name)
    return indices, kept


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                               pad_to_max_output_size=False, name=None):
    """Returns (indices, how many of them count); `pad_to_max_output_size` fills up with zeros. See `non_max_suppression`."""
    indices, count = nonmaxsuppressionv4_op(boxes, scores, max_output_size, iou_threshold, score_threshold,
                                            pad_to_max_output_size=pad_to_max_output_size, name=name)
    return indices, count


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=float("-inf"),
                                 name=None):
    """Returns the chosen indices where the overlaps, float32 [boxes, boxes], are given. See `non_max_suppression`."""
    return nonmaxsuppressionwithoverlaps_op(overlaps, scores, max_output_size, overlap_threshold, score_threshold, name=name)


CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression", ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"])


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5,
                                 score_threshold=float("-inf"), pad_per_class=False, clip_boxes=True, name=None):
    """Returns (boxes, scores, classes, how many count) chosen within each class of each image, the best over all classes.

    Args:
      boxes: float32 [batch, boxes, classes or 1, 4].
      scores: float32 [batch, boxes, classes].
      max_output_size_per_class, max_total_size: int32 scalars.
      pad_per_class: the outputs have min(max_total_size, classes * max_output_size_per_class) rows, not max_total_size.
      clip_boxes: clip the boxes to [0, 1].
    """
    return CombinedNonMaxSuppression(*combinednonmaxsuppression_op(
        boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, pad_per_class=pad_per_class,
        clip_boxes=clip_boxes, name=name))


# -- drawing --------------------------------------------------------------------------------------------
_COLOURS = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1], [0.5, 0.5, 0, 1],
                     [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]], np.float32)


def _draw_infer(images, boxes, colors=None):
    if images.dims is not None and (len(images.dims) != 4 or images.dims[3] not in (None, 1, 3, 4)):
        raise ShapeError(f"draw_bounding_boxes: images must be [batch, height, width, 1, 3 or 4], got {spec_text(images)}")
    if boxes.dims is not None and (len(boxes.dims) != 3 or boxes.dims[2] not in (None, 4)):
        raise ShapeError(f"draw_bounding_boxes: boxes must be [batch, boxes, 4], got {spec_text(boxes)}")
    return Spec(images.dims, images.dtype)


def _draw_lower(b, images, boxes, colors=None):
    if len(images) != len(boxes):
        raise InvalidArgumentError(f"The batches differ: {len(images)} images, and boxes for {len(boxes)}")
    out = np.array(images)
    height, width, channels = images.shape[1:]
    colours = _COLOURS if colors is None or not np.size(colors) else np.asarray(colors, np.float32)
    if channels == 1:
        colours = np.ones((len(colours), 1), np.float32)
    for image, own in zip(out, np.asarray(boxes, np.float32)):
        for k, (y1, x1, y2, x2) in enumerate(own):
            top, bottom = int(y1 * (height - 1)), int(y2 * (height - 1))
            left, right = int(x1 * (width - 1)), int(x2 * (width - 1))
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
                continue
            colour = colours[k % len(colours)][:channels].astype(out.dtype)
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            if top >= 0:
                image[top, columns] = colour
            if bottom < height:
                image[bottom, columns] = colour
            if left >= 0:
                image[rows, left] = colour
            if right < width:
                image[rows, right] = colour
    return out


_DRAWN = {"T": {dtypes.float32, dtypes.float16}}
drawboundingboxes_op = define_op("DrawBoundingBoxes", "images: T, boxes: float32", host=True, types=_DRAWN, infer=_draw_infer,
                                 lower=_draw_lower)
drawboundingboxesv2_op = define_op("DrawBoundingBoxesV2", "images: T, boxes: float32, colors: float32", host=True, types=_DRAWN,
                                   infer=_draw_infer, lower=_draw_lower)

for _op_type in ("NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps",
                 "CombinedNonMaxSuppression", "DrawBoundingBoxes", "DrawBoundingBoxesV2"):
    NotDifferentiable(_op_type)


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Returns images with boxes drawn on them, one pixel wide.

    Args:
      images: float32 or float16 [batch, height, width, 1, 3 or 4 channels], in [0, 1].
      boxes: float32 [batch, boxes, 4], in fractions of height and width.
      colors: float32 [colours, channels], taken in turn; by default ten colours.
    """
    if colors is None:
        return drawboundingboxes_op(images, boxes, name=name)
    return drawboundingboxesv2_op(images, boxes, convert_to_tensor(colors, dtypes.float32), name=name)
