// The channels in random order: torchvision's RandomChannelPermutation.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/colour/colours.h"

namespace unstarve {

void permute_channels(Frame& frame, const std::array<std::uint8_t, kChannels>& order, Scratch& scratch) {
  chain_of(frame, scratch).add_permute(order);
}

std::unique_ptr<Operation> make_random_channel_permutation(const OpParams& params) {
  const Parameters p("random_channel_permutation", params, {"probability"});
  return change_operation({.probability = p.number("probability", 1, 0, 1), .draws = true},
                          [](Frame& frame, Random& random, Scratch& scratch) {
                            std::array<std::uint8_t, kChannels> order{0, 1, 2};
                            std::swap(order[2], order[random.below(3)]);
                            std::swap(order[1], order[random.below(2)]);
                            if (order != std::array<std::uint8_t, kChannels>{0, 1, 2})
                              permute_channels(frame, order, scratch);
                          });
}

}  // namespace unstarve
