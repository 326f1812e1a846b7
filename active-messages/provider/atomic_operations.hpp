// The effect of atomic operations on target memory: FI_MIN to FI_MSWAP of fi_atomic(3).
#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>

#include "../src/endpoint.hpp"

namespace scope::provider {

// The forms of libfabric's calls: fi_atomic() changes values, fi_fetch_atomic() also returns the old values, and
// fi_compare_atomic() changes values depending on a second operand.
enum class AtomicForm : std::uint8_t { write, fetch, compare };

// The size of one element; 0: no such type.
std::size_t element_bytes(unsigned datatype);
bool supported(AtomicForm form, unsigned datatype, unsigned operation);

// Applies a supported operation to each element at `target`, one after another, atomically if the processor can
// change the element in one step. `operand`, `compare` (for AtomicForm::compare) and `old` (unless nullptr) hold
// `count` elements, at any alignment.
void apply(unsigned datatype, unsigned operation, std::byte* target, std::size_t count, const std::byte* operand,
           const std::byte* compare, std::byte* old);

}  // namespace scope::provider
