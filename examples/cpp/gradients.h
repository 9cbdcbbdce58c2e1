#pragma once
// A data source of this program: images that are computed when they are read.

#include <cstdint>
#include <memory>

#include "unstarve/storage/dataset/dataset.h"

// `images` images of `size` x `size` pixels in two classes: brightness increases from left to right, or downwards.
std::shared_ptr<const unstarve::Dataset> make_gradients(std::uint64_t images, int size);
