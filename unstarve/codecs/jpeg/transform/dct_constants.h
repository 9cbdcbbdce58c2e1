#pragma once
// The constants of the accurate integer inverse DCT, named by their value as in libjpeg's jidctint.c and jidctred.c
// (Loeffler, Ligtenberg and Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989).
// In 13-bit fixed point: k0_298 is 0.298 times 2^13, and so on.

namespace unstarve::dct {

constexpr int kBits = 13;
constexpr int kBetween = 2;  // additional bits between the first pass and the second
constexpr int k0_211 = 1730;
constexpr int k0_298 = 2446;
constexpr int k0_390 = 3196;
constexpr int k0_509 = 4176;
constexpr int k0_541 = 4433;
constexpr int k0_601 = 4926;
constexpr int k0_720 = 5906;
constexpr int k0_765 = 6270;
constexpr int k0_850 = 6967;
constexpr int k0_899 = 7373;
constexpr int k1_061 = 8697;
constexpr int k1_175 = 9633;
constexpr int k1_272 = 10426;
constexpr int k1_451 = 11893;
constexpr int k1_501 = 12299;
constexpr int k1_847 = 15137;
constexpr int k1_961 = 16069;
constexpr int k2_053 = 16819;
constexpr int k2_172 = 17799;
constexpr int k2_562 = 20995;
constexpr int k3_072 = 25172;
constexpr int k3_624 = 29692;

}  // namespace unstarve::dct
