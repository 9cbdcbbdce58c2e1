#pragma once
// The one libtorch header that most of its users need, precompiled: it costs half a minute per file otherwise.
#include <torch/torch.h>
