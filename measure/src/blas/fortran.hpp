// Fortran's calling convention, as in every BLAS and LAPACK: all arguments by address, followed by the lengths of
// character arguments, which some compilers ignore.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

namespace scope {

// The addresses that are passed for an argument: its own address, or the address of its first item. A type with
// `fortran_arguments` represents several arguments.
template <class Value>
auto fortran_arguments(Value& value) {
  if constexpr (requires { value.fortran_arguments(); }) {
    return value.fortran_arguments();
  } else if constexpr (requires { value.data(); }) {
    return std::tuple(value.data());
  } else if constexpr (std::is_pointer_v<std::remove_cv_t<Value>>) {
    return std::tuple(value);
  } else if constexpr (std::is_array_v<Value>) {
    return std::tuple(&value[0]);
  } else {
    static_assert(!std::is_integral_v<Value> || std::is_same_v<std::remove_const_t<Value>, int>);
    return std::tuple(&value);
  }
}

// A routine without a result. Numbers, arrays and one-character texts are passed directly:
// `factorize("L", n, matrix, n, info)`.
class FortranRoutine {
 public:
  explicit FortranRoutine(void* address) : address_(address) {}

  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    constexpr std::size_t texts = (std::is_convertible_v<Arguments, const char*> + ... + 0);
    std::array<std::size_t, texts> lengths;
    lengths.fill(1);
    std::apply([&](auto... passed) { reinterpret_cast<void (*)(decltype(passed)...)>(address_)(passed...); },
               std::tuple_cat(fortran_arguments(arguments)..., lengths));
  }

 private:
  void* address_;
};

// Workspace of a routine and its size. Called with the size -1, a routine reports the required size.
template <class Item>
struct Workspace {
  std::vector<Item> items = std::vector<Item>(1);
  int size = -1;

  void resize(std::size_t count) {
    items.resize(count);
    size = static_cast<int>(count);
  }
  // To be called after that. Some ScaLAPACK routines report slightly less than they use.
  void allocate(std::size_t further = 1) { resize(static_cast<std::size_t>(items[0]) + further); }
  auto fortran_arguments() { return std::tuple(items.data(), &size); }
};

}  // namespace scope
