"""`tf.image`: images, by TF1's names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.codecs": """
        adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png
        encode_jpeg encode_png extract_jpeg_shape is_jpeg""",
    "regrad.ops.image": """
        ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation central_crop
        convert_image_dtype crop_and_resize crop_to_bounding_box flip_left_right flip_up_down grayscale_to_rgb
        hsv_to_rgb image_gradients pad_to_bounding_box per_image_standardization psnr random_flip_left_right
        random_flip_up_down resize=resize_images resize_area resize_bicubic resize_bilinear
        resize_image_with_crop_or_pad resize_images resize_nearest_neighbor
        resize_with_crop_or_pad=resize_image_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rot90 sobel_edges
        ssim total_variation transpose=transpose_image transpose_image""",
    "regrad.ops.layout": "extract_image_patches",
})
