// What atomic operations do to the memory of their target: FI_MIN to FI_MSWAP of fi_atomic(3).
#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>

#include "../src/endpoint.hpp"

namespace scope::provider {

// Which calls of libfabric: fi_atomic() changes, fi_fetch_atomic() returns the old values too, fi_compare_atomic()
// changes depending on a second operand.
enum class AtomicForm : std::uint8_t { write, fetch, compare };

// The size of one element; 0: no such type.
std::size_t element_bytes(unsigned datatype);
bool supported(AtomicForm form, unsigned datatype, unsigned operation);

// Applies a supported operation to each of the elements at `target`, one after another; an element that the processor can
// change in one step is changed so. `operand`, `compare` (of AtomicForm::compare) and `old` (unless nullptr) hold as many
// elements, at any alignment.
void apply(unsigned datatype, unsigned operation, std::byte* target, std::size_t count, const std::byte* operand,
           const std::byte* compare, std::byte* old);

}  // namespace scope::provider
