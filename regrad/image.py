"""`tf.image`: images, by TF1's names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.augment": """
        extract_glimpse random_brightness random_contrast random_hue random_jpeg_quality random_saturation
        rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb""",
    "regrad.ops.boxes": """
        combined_non_max_suppression draw_bounding_boxes non_max_suppression non_max_suppression_overlaps
        non_max_suppression_padded non_max_suppression_with_scores""",
    "regrad.ops.codecs": """
        adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png
        encode_jpeg encode_png extract_jpeg_shape is_jpeg""",
    "regrad.ops.distort": "sample_distorted_bounding_box",
    "regrad.ops.image": """
        ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation central_crop
        convert_image_dtype crop_and_resize crop_to_bounding_box flip_left_right flip_up_down grayscale_to_rgb
        hsv_to_rgb image_gradients pad_to_bounding_box per_image_standardization psnr random_flip_left_right
        random_flip_up_down resize=resize_images resize_area resize_bicubic resize_bilinear
        resize_image_with_crop_or_pad resize_image_with_pad resize_images resize_nearest_neighbor
        resize_with_crop_or_pad=resize_image_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rot90 sobel_edges
        ssim ssim_multiscale total_variation transpose=transpose_image transpose_image""",
    "regrad.ops.layout": "extract_image_patches extract_patches=extract_image_patches",
    "regrad.ops.random": "random_crop",
})
