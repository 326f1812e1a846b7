// The link between this provider's objects and the C structures of libfabric: each object derives from its
// structure, whose first member is the `fid` that libfabric passes around.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <new>

namespace scope::provider {

template <class Object, class Structure>
Object& object(Structure* structure) {
  return *static_cast<Object*>(structure);
}

// For functions that take the bare fid. `Object` derives from `Structure`.
template <class Object, class Structure>
Object& object_of(fid* id) {
  return *static_cast<Object*>(reinterpret_cast<Structure*>(id));
}

// Fills table entries for functions that this provider does not offer.
struct Unsupported {
  template <class Result, class... Arguments>
  using Function = Result (*)(Arguments...);
  template <class Result, class... Arguments>
  operator Function<Result, Arguments...>() const {
    return [](Arguments...) -> Result { return static_cast<Result>(-FI_ENOSYS); };
  }
};
inline constexpr Unsupported unsupported;

// The table of an object that can only be closed.
inline fi_ops closed_by(int (*close)(fid*)) {
  return {.size = sizeof(fi_ops),
          .close = close,
          .bind = unsupported,
          .control = unsupported,
          .ops_open = unsupported,
          .tostr = nullptr,
          .ops_set = nullptr};
}

// Deletes an object to which nothing else refers.
template <class Object, class Structure>
int destroy(fid* id) {
  delete &object_of<Object, Structure>(id);
  return 0;
}

// Deletes an object, unless endpoints are bound to it.
template <class Object, class Structure>
int destroy_unless_bound(fid* id) {
  return object_of<Object, Structure>(id).endpoints.empty() ? destroy<Object, Structure>(id) : -FI_EBUSY;
}

// Completes a new object with its head and functions, and gives it to the program.
template <class Object, class Functions, class Structure>
int hand_over(Object* object, const fid& head, Functions& functions, Structure** result) {
  object->fid = head;
  object->ops = &functions;
  *result = object;
  return 0;
}

// Keeps exceptions from leaving a function that libfabric calls.
template <class Call>
int guarded(Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  } catch (...) {
    return -FI_EOTHER;
  }
}

}  // namespace scope::provider
