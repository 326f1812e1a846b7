// Triangular truncation and its transform grid.
#pragma once

#include <array>
#include <string_view>

namespace scope::shallow_water {

// T(truncation): wave numbers m = -truncation ... truncation, degrees n = |m| ... truncation. The grid has at
// least 3 truncation + 1 longitudes and (3 truncation + 1) / 2 latitudes, so that products of two fields are
// transformed without aliasing (Hack & Jakob 1992, section 3).
struct Resolution {
  const char* name;
  int truncation;
  int longitudes;
  int latitudes;

  constexpr int pairs() const { return latitudes / 2; }  // of latitudes at equal distance from the equator
};

// Longitudes have the factors 2, 3 and 5. PSTSWM's are T42, T85 and T170.
constexpr std::array<Resolution, 6> resolutions{{{"T42", 42, 128, 64},
                                                 {"T21", 21, 64, 32},
                                                 {"T63", 63, 192, 96},
                                                 {"T85", 85, 256, 128},
                                                 {"T106", 106, 320, 160},
                                                 {"T170", 170, 512, 256}}};

constexpr const Resolution& resolution_named(std::string_view name) {
  for (const Resolution& one : resolutions)
    if (one.name == name) return one;
  return resolutions.front();
}

}  // namespace scope::shallow_water
