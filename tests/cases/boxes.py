"""Rows for `regrad/ops/boxes.py` and `distort.py`: choosing among boxes, drawing them, cutting them out."""

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps, once

image = tf.image
raw = tf.raw_ops
_RNG = np.random.RandomState(4)
CORNERS = _RNG.rand(12, 4).astype(np.float32)  # any two opposite corners
UPRIGHT = np.sort(CORNERS.reshape(-1, 2, 2), 1).reshape(-1, 4)
SCORES = np.round(_RNG.rand(12), 1).astype(np.float32)  # some of them equal
STRANGE = np.where(np.arange(12) % 4 == 1, np.nan, np.where(np.arange(12) % 5 == 0, np.inf, SCORES)).astype(np.float32)
FLAT = np.array([[0.2, 0.2, 0.2, 0.8], [0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.5]], np.float32)  # one without area
NO_BOXES, NO_SCORES = CORNERS[:0], SCORES[:0]
OVERLAPS = np.abs(np.corrcoef(CORNERS)).astype(np.float32)


def nms(op, *more, **attrs):
    return lambda boxes, scores: op(boxes, scores, *more, **attrs)


def both(op_type, op, *more, **attrs):
    """What all three versions do: at ties, with thresholds, empty, of boxes without area, and of scores that are none."""
    return [
        once(op_type, nms(op, 10, **attrs), CORNERS, SCORES),
        once(op_type, nms(op, 30, 0.2, 0.3, **attrs), CORNERS, SCORES, note="thresholds"),
        once(op_type, nms(op, 3, 0.0, **attrs), CORNERS, SCORES, note="no overlap"),
        once(op_type, nms(op, 30, 1.0, **attrs), CORNERS, SCORES, note="any overlap"),
        once(op_type, nms(op, 0, **attrs), CORNERS, SCORES, note="none wanted"),
        once(op_type, nms(op, 3, **attrs), NO_BOXES, NO_SCORES, note="empty"),
        once(op_type, nms(op, 3, **attrs), FLAT, SCORES[:3], note="no area"),
        once(op_type, nms(op, 12, 0.5, 0.2, **attrs), CORNERS, np.where(np.isnan(STRANGE), 0, STRANGE), note="infinite scores"),
        once(op_type, nms(op, 3, 1.5, **attrs), CORNERS, SCORES, note="threshold of 1.5"),
        once(op_type, nms(op, -1, **attrs), CORNERS, SCORES, note="less than none"),
        Bad(op_type, lambda: op(CORNERS, SCORES[:3], 3), ValueError, r"scores must be \[boxes\]"),
        Bad(op_type, lambda: op(CORNERS[:, :3], SCORES, 3), ValueError, r"boxes must be \[boxes, 4\]"),
    ]


CASES = [
    *both("NonMaxSuppressionV3", image.non_max_suppression),
    once("NonMaxSuppressionV3", lambda b, s: raw.NonMaxSuppressionV3(
        boxes=b, scores=s, max_output_size=5, iou_threshold=tf.constant(0.5, tf.float16),
        score_threshold=tf.constant(0.1, tf.float16)), CORNERS.astype(np.float16), SCORES.astype(np.float16), note="float16"),
    once("NonMaxSuppressionV4", nms(image.non_max_suppression_padded, 8), UPRIGHT, SCORES),
    once("NonMaxSuppressionV4", nms(image.non_max_suppression_padded, 40, 0.3, pad_to_max_output_size=True), UPRIGHT, SCORES,
         note="filled up"),
    once("NonMaxSuppressionV4", lambda b, s: raw.NonMaxSuppressionV4(
        boxes=b, scores=s, max_output_size=4, iou_threshold=0.5, score_threshold=0.1, pad_to_max_output_size=True), NO_BOXES,
         NO_SCORES, note="empty"),
    *both("NonMaxSuppressionV5", image.non_max_suppression_with_scores),
    once("NonMaxSuppressionV5", nms(image.non_max_suppression_with_scores, 10, 0.4, 0.1, 0.5), CORNERS, SCORES, note="soft"),
    once("NonMaxSuppressionV5", nms(image.non_max_suppression_with_scores, 10, soft_nms_sigma=-0.5), CORNERS, SCORES,
         note="negative sigma"),
    once("NonMaxSuppressionV5", lambda b, s: raw.NonMaxSuppressionV5(
        boxes=b, scores=s, max_output_size=15, iou_threshold=0.5, score_threshold=0.1, soft_nms_sigma=0.3,
        pad_to_max_output_size=True), CORNERS, SCORES, note="filled up"),
    once("NonMaxSuppressionWithOverlaps", nms(image.non_max_suppression_overlaps, 20, 0.6, 0.2), OVERLAPS, SCORES),
    once("NonMaxSuppressionWithOverlaps", nms(image.non_max_suppression_overlaps, -1), OVERLAPS, SCORES, note="less than none"),
    once("NonMaxSuppressionWithOverlaps", nms(image.non_max_suppression_overlaps, 2), OVERLAPS[:0, :0], NO_SCORES, note="empty"),
    Bad("NonMaxSuppressionWithOverlaps", lambda: image.non_max_suppression_overlaps(SCORES, SCORES, 2), ValueError,
        r"overlaps must be \[boxes, boxes\]"),
    once("CombinedNonMaxSuppression", lambda b, s: list(image.combined_non_max_suppression(b, s, 3, 6, 0.3, 0.2)),
         CORNERS.reshape(2, 6, 1, 4), _RNG.rand(2, 6, 3).astype(np.float32)),
    once("CombinedNonMaxSuppression", lambda b, s: list(image.combined_non_max_suppression(b, s, 2, 9, 0.3, pad_per_class=True)),
         _RNG.rand(1, 6, 2, 4).astype(np.float32) * 1.3, _RNG.rand(1, 6, 2).astype(np.float32), note="per class"),
    once("CombinedNonMaxSuppression", lambda b, s: list(image.combined_non_max_suppression(b, s, 2, 3, clip_boxes=False)),
         _RNG.rand(1, 6, 1, 4).astype(np.float32) * 1.3, _RNG.rand(1, 6, 1).astype(np.float32), note="not clipped"),
    once("CombinedNonMaxSuppression", lambda b, s: list(image.combined_non_max_suppression(b, s, 2, 3)),
         np.zeros([1, 0, 1, 4], np.float32), np.zeros([1, 0, 2], np.float32), note="empty"),
    Bad("CombinedNonMaxSuppression", lambda: image.combined_non_max_suppression(CORNERS, SCORES, 1, 1), ValueError,
        "boxes must have 4 axes"),
]


# -- drawing ------------------------------------------------------------------------------------------
BOXES = np.sort(_RNG.rand(2, 12, 2, 2), 2).reshape(2, 12, 4).astype(np.float32)
ACROSS = np.array([[[-0.2, 0.3, 0.6, 1.4], [0.6, 0.1, 0.2, 0.9], [1.1, 0.0, 1.2, 1.0], [0.5, 0.5, 0.5, 0.5]]], np.float32)
CASES += [
    *(once("DrawBoundingBoxes", lambda x, b: raw.DrawBoundingBoxes(images=x, boxes=b), np.full([2, 9, 11, c], 0.25, np.float32),
           BOXES, note=f"{c} channels") for c in (1, 3, 4)),
    once("DrawBoundingBoxes", lambda x, b: raw.DrawBoundingBoxes(images=x, boxes=b), np.zeros([1, 7, 5, 3], np.float16), ACROSS,
         note="float16"),
    once("DrawBoundingBoxes", lambda x, b: raw.DrawBoundingBoxes(images=x, boxes=b), np.ones([1, 3, 4, 3], np.float32),
         ACROSS[:, :0], note="no boxes"),
    once("DrawBoundingBoxes", lambda x, b: raw.DrawBoundingBoxes(images=x, boxes=b), np.ones([2, 3, 4, 3], np.float32),
         ACROSS, note="another batch"),
    once("DrawBoundingBoxesV2", lambda x, b: raw.DrawBoundingBoxesV2(images=x, boxes=b, colors=[[0.1, 0.2, 0.3, 0.4]]),
         np.zeros([1, 9, 11, 4], np.float32), ACROSS),
    once("DrawBoundingBoxesV2", lambda x, b, c: raw.DrawBoundingBoxesV2(images=x, boxes=b, colors=c),
         np.zeros([2, 9, 11, 3], np.float32), BOXES, _RNG.rand(3, 3).astype(np.float32), note="in turn"),
    once("DrawBoundingBoxesV2", lambda x, b, c: raw.DrawBoundingBoxesV2(images=x, boxes=b, colors=c),
         np.zeros([2, 9, 11, 3], np.float32), BOXES, np.zeros((0, 3), np.float32), note="no colours"),
    Bad("DrawBoundingBoxes", lambda: raw.DrawBoundingBoxes(images=np.zeros([9, 11, 3], "f"), boxes=BOXES), ValueError,
        r"images must be \[batch, height, width"),
    Bad("DrawBoundingBoxesV2", lambda: raw.DrawBoundingBoxesV2(images=np.zeros([1, 9, 11, 3], "f"), boxes=BOXES[0],
                                                               colors=[[1.0, 1.0, 1.0]]), ValueError, r"boxes must be \[batch"),
]


# -- cutting out ----------------------------------------------------------------------------------------
def distorted(size, boxes, **attrs):
    """The same seeds draw the same boxes as in TensorFlow; a second run draws others."""
    return lambda: [list(raw.SampleDistortedBoundingBoxV2(image_size=size, bounding_boxes=boxes, **attrs))] * 3


ONE = np.array([[[0.1, 0.2, 0.7, 0.9], [0.5, 0.5, 0.55, 0.56]]], np.float32)
CASES += [
    *(Steps("SampleDistortedBoundingBoxV2", distorted(np.array([60, 80, 3], d), ONE, seed=s, seed2=3, min_object_covered=0.1),
            note=f"{d} {s}") for d, s in (("int32", 1), ("int64", 2), ("uint8", 3), ("int16", 4))),
    Steps("SampleDistortedBoundingBoxV2", distorted([33, 50, 1], ONE[:, :0], seed=1, seed2=2, area_range=(0.3, 0.5),
                                                    aspect_ratio_range=(0.5, 2.5), min_object_covered=0.4,
                                                    use_image_if_no_bounding_boxes=True), note="no boxes"),
    Steps("SampleDistortedBoundingBoxV2", distorted([33, 50, 1], ONE[:, :0], seed=1, seed2=2, min_object_covered=0.4),
          note="no boxes, refused"),
    Steps("SampleDistortedBoundingBoxV2", distorted([20, 30, 3], ONE, seed=9, seed2=1, min_object_covered=1.0, max_attempts=2),
          note="in vain"),
    Steps("SampleDistortedBoundingBoxV2", distorted([20, 30, 3], ONE + 1, seed=9, seed2=1, min_object_covered=0.1),
          note="outside"),
    Bad("SampleDistortedBoundingBoxV2", lambda: image.sample_distorted_bounding_box([20, 30], ONE), ValueError, "image_size"),
]
