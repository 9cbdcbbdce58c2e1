// The operations of the library, one row each, in the order of the documentation: OPERATION(NAME, HELP).
//
// make_NAME() is the factory, defined in a file of the operation's family. HELP is one line: what the operation does,
// then its parameters with their defaults. operations.cpp includes this file wherever it needs all rows.

OPERATION(random_resized_crop,
          "a random part, resized: size (required), scale [0.08, 1] of the area, ratio [0.75, 1.3333], interpolation "
          "bilinear (nearest, bicubic, box, area, lanczos), antialias true")
OPERATION(resize,
          "to a short side of `size`, or to [height, width] exactly: size (required), max_size 0 (of the long side; "
          "0: any), interpolation bilinear (nearest, bicubic, box, area, lanczos), antialias true")
OPERATION(center_crop, "the centre, padded with black where the image is smaller: size (required)")
OPERATION(pad_crop,
          "a random part of the padded image: size (required), padding 4 (or [left and right, top and bottom], or "
          "[left, top, right, bottom]), padding_mode constant (edge, reflect, symmetric), fill 0 (three, or mean)")
OPERATION(horizontal_flip, "mirrors left and right: probability 0.5")
OPERATION(alternating_flip, "mirrors left and right a random half of the images, and in the next epoch the other half")
OPERATION(vertical_flip, "mirrors top and bottom: probability 0.5")
OPERATION(brightness, "scales brightness: factor [0.6, 1.4], probability 1")
OPERATION(contrast, "blends with the mean luma: factor [0.6, 1.4], probability 1")
OPERATION(saturation, "blends with grey: factor [0.6, 1.4], probability 1")
OPERATION(hue, "shifts the hue: shift [-0.1, 0.1] of the colour circle, probability 1")
OPERATION(color_jitter,
          "changes brightness, contrast, saturation and hue in random order: brightness 0.4, contrast 0.4, "
          "saturation 0.4, hue 0.1, probability 1")
OPERATION(grayscale, "converts to grey: probability 0.1")
OPERATION(posterize, "reduces the bits per value: bits 4, probability 0.5")
OPERATION(solarize, "inverts values from threshold on: threshold 128, probability 0.5")
OPERATION(invert, "inverts all values: probability 0.5")
OPERATION(auto_contrast, "stretches each channel to 0..255: probability 0.5")
OPERATION(equalize, "makes the values of each channel about equally frequent: probability 0.5")
OPERATION(random_channel_permutation, "permutes the channels at random: probability 1")
OPERATION(lighting, "random lighting along ImageNet's principal components: std 0.1, probability 1")
OPERATION(erasing,
          "covers a random rectangle: probability 0.5, scale [0.02, 0.33] of the area, ratio [0.3, 3.3], value mean "
          "of the normalisation (a number, three, or random)")
OPERATION(cutout,
          "covers rectangles of one size at random positions, clipped at the edges: size (required), holes 1, "
          "probability 1, value mean of the normalisation (a number, three, or random)")
OPERATION(rotation,
          "rotates about the centre: degrees [-30, 30] counter-clockwise, probability 1, interpolation bilinear, fill "
          "0 (three, or mean)")
OPERATION(affine,
          "rotates, translates, scales and shears: degrees [-15, 15], translate_x 0.1 and translate_y 0.1 of the "
          "sides, scale [0.9, 1.1], shear_x 0 and shear_y 0 degrees, probability 1, interpolation bilinear, fill 0 "
          "(three, or mean)")
OPERATION(perspective,
          "changes the perspective: distortion 0.5, probability 0.5, interpolation bilinear, fill 0 (three, or mean)")
OPERATION(sharpness, "sharpens or smooths: factor [0.6, 1.4], probability 1")
OPERATION(gaussian_blur, "Gaussian blur: sigma [0.1, 2], radius 0 (three sigma), probability 0.5")
OPERATION(rand_augment,
          "random changes of one magnitude: changes 2, magnitude 9 of 0 to 30, num_magnitude_bins 31, interpolation "
          "nearest, fill 0 (three, or mean)")
OPERATION(trivial_augment,
          "one random change by a random magnitude: num_magnitude_bins 31, interpolation nearest, fill 0 (three, or "
          "mean)")
OPERATION(one_of,
          "one operation drawn from several that keep the size: choices (required), \"color_jitter; 2 gaussian_blur "
          "sigma=0.1,2\", each with an optional weight before it")
OPERATION(aug_mix,
          "a blend with chains of random changes: severity 3 of 1 to 10, mixture_width 3 chains, chain_depth -1 (one "
          "to three), alpha 1 of the weights, all_ops true, interpolation bilinear, fill 0 (three, or mean)")
OPERATION(auto_augment_imagenet, "pairs of changes found for ImageNet: interpolation nearest, fill 0 (three, or mean)")
OPERATION(auto_augment_cifar10, "pairs of changes found for CIFAR-10: interpolation nearest, fill 0 (three, or mean)")
OPERATION(auto_augment_svhn, "pairs of changes found for SVHN: interpolation nearest, fill 0 (three, or mean)")
