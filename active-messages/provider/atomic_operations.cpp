#include "atomic_operations.hpp"

#include <atomic>
#include <complex>
#include <cstring>
#include <type_traits>

namespace scope::provider {
namespace {

// Calls `use` with a value of the type; false if there is no such type.
template <class Use>
bool with_type(unsigned datatype, Use use) {
  switch (datatype) {
    case FI_INT8: return use(std::int8_t{});
    case FI_UINT8: return use(std::uint8_t{});
    case FI_INT16: return use(std::int16_t{});
    case FI_UINT16: return use(std::uint16_t{});
    case FI_INT32: return use(std::int32_t{});
    case FI_UINT32: return use(std::uint32_t{});
    case FI_INT64: return use(std::int64_t{});
    case FI_UINT64: return use(std::uint64_t{});
    case FI_FLOAT: return use(float{});
    case FI_DOUBLE: return use(double{});
    case FI_FLOAT_COMPLEX: return use(std::complex<float>{});
    case FI_DOUBLE_COMPLEX: return use(std::complex<double>{});
    default: return false;  // long double: its padding cannot be compared
  }
}

template <class Value>
constexpr bool ordered = std::is_arithmetic_v<Value>;

// Sums and products of integers wrap.
template <class Value>
auto wrapping(Value value) {
  if constexpr (std::is_integral_v<Value>)
    return static_cast<std::uint64_t>(value);
  else
    return value;
}

// The new value; false if the type does not support the operation.
template <class Value>
bool combine(unsigned operation, Value old, Value operand, Value compare, Value& result) {
  const Value zero{}, one{1};
  const auto logical = [&](bool truth) {
    result = truth ? one : zero;
    return true;
  };
  const auto swap_if = [&](bool condition) {
    result = condition ? operand : old;
    return true;
  };
  const auto set = [&](Value value) {
    result = value;
    return true;
  };
  switch (operation) {
    case FI_SUM: return set(static_cast<Value>(wrapping(old) + wrapping(operand)));
    case FI_PROD: return set(static_cast<Value>(wrapping(old) * wrapping(operand)));
    case FI_LOR: return logical(old != zero || operand != zero);
    case FI_LAND: return logical(old != zero && operand != zero);
    case FI_LXOR: return logical((old != zero) != (operand != zero));
    case FI_ATOMIC_READ: return set(old);
    case FI_ATOMIC_WRITE: return set(operand);
    case FI_CSWAP: return swap_if(compare == old);
    case FI_CSWAP_NE: return swap_if(compare != old);
    default: break;
  }
  if constexpr (ordered<Value>) {
    switch (operation) {
      case FI_MIN: return swap_if(operand < old);
      case FI_MAX: return swap_if(operand > old);
      case FI_CSWAP_LE: return swap_if(compare <= old);
      case FI_CSWAP_LT: return swap_if(compare < old);
      case FI_CSWAP_GE: return swap_if(compare >= old);
      case FI_CSWAP_GT: return swap_if(compare > old);
      default: break;
    }
  }
  if constexpr (std::is_integral_v<Value>) {
    switch (operation) {
      case FI_BOR: return set(static_cast<Value>(old | operand));
      case FI_BAND: return set(static_cast<Value>(old & operand));
      case FI_BXOR: return set(static_cast<Value>(old ^ operand));
      case FI_MSWAP: return set(static_cast<Value>((operand & compare) | (old & ~compare)));
      default: break;
    }
  }
  return false;
}

template <class Value>
Value loaded(const std::byte* from) {
  Value value{};
  if (from != nullptr) std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Value>
Value change(std::byte* target, unsigned operation, Value operand, Value compare) {
  Value result;
  if constexpr (sizeof(Value) <= sizeof(std::uint64_t)) {
    if (reinterpret_cast<std::uintptr_t>(target) % std::atomic_ref<Value>::required_alignment == 0) {
      const std::atomic_ref<Value> shared(*reinterpret_cast<Value*>(target));
      Value old = shared.load();
      do combine(operation, old, operand, compare, result);
      while (!shared.compare_exchange_weak(old, result));
      return old;
    }
  }
  const Value old = loaded<Value>(target);
  combine(operation, old, operand, compare, result);
  std::memcpy(target, &result, sizeof result);
  return old;
}

}  // namespace

std::size_t element_bytes(unsigned datatype) {
  std::size_t bytes = 0;
  with_type(datatype, [&](auto value) {
    bytes = sizeof value;
    return true;
  });
  return bytes;
}

bool supported(AtomicForm form, unsigned datatype, unsigned operation) {
  const bool compares = operation >= FI_CSWAP && operation <= FI_MSWAP;
  if (compares != (form == AtomicForm::compare)) return false;
  if (operation == FI_ATOMIC_READ && form == AtomicForm::write) return false;
  return with_type(datatype, [&](auto value) { return combine(operation, value, value, value, value); });
}

void apply(unsigned datatype, unsigned operation, std::byte* target, std::size_t count, const std::byte* operand,
           const std::byte* compare, std::byte* old) {
  with_type(datatype, [&](auto type) {
    using Value = decltype(type);
    for (std::size_t at = 0; at < count * sizeof(Value); at += sizeof(Value)) {
      const auto from = [at](const std::byte* values) { return values == nullptr ? nullptr : values + at; };
      const Value before =
          change<Value>(target + at, operation, loaded<Value>(from(operand)), loaded<Value>(from(compare)));
      if (old != nullptr) std::memcpy(old + at, &before, sizeof before);
    }
    return true;
  });
}

}  // namespace scope::provider
