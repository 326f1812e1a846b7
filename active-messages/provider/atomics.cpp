// The calls for atomic operations. All forms of a call are mapped to one.
#include <rdma/fi_atomic.h>

#include "atomic_operations.hpp"
#include "endpoint.hpp"
#include "information.hpp"

namespace scope::provider {
namespace {

constexpr std::uint64_t injecting = FI_INJECT;

ssize_t start(fid_ep* id, fi_addr_t to, Atomic atomic, std::uint64_t flags, bool silent = false) {
  return locked_peer(id, to, [&](Endpoint& endpoint, Peer peer) {
    if (!supported(atomic.form, atomic.datatype, atomic.operation)) return -FI_EOPNOTSUPP;
    if (atomic.count > atomic_bytes_limit / element_bytes(atomic.datatype)) return -FI_EMSGSIZE;
    atomic.peer = peer;
    atomic.completes = !silent && endpoint.send_completes(flags);
    return endpoint.exchange->atomic(atomic);
  });
}

std::uint64_t usual(fid_ep* id) { return endpoint_of(id).send_flags; }

// The only piece of a vector; operations that only read do not have one.
bool one_piece(const fi_ioc* pieces, std::size_t count, fi_ioc& piece) {
  piece = count == 1 ? *pieces : fi_ioc{};
  return count <= 1;
}

ssize_t start_pieces(fid_ep* id, fi_addr_t to, Atomic atomic, const fi_ioc* operands, std::size_t count,
                     const fi_ioc* comparands, std::size_t compare_count, const fi_ioc* results,
                     std::size_t result_count, std::uint64_t flags) {
  fi_ioc operand, comparand, result;
  if (!one_piece(operands, count, operand) || !one_piece(comparands, compare_count, comparand) ||
      !one_piece(results, result_count, result))
    return -FI_EINVAL;
  atomic.operand = operand.addr;
  atomic.compare = comparand.addr;
  atomic.result = result.addr;
  atomic.count = atomic.form == AtomicForm::write ? operand.count : result.count;
  if (atomic.form == AtomicForm::compare && comparand.count != atomic.count) return -FI_EINVAL;
  return start(id, to, atomic, flags);
}

ssize_t start_message(fid_ep* id, AtomicForm form, const fi_msg_atomic* message, const fi_ioc* comparands,
                      std::size_t compare_count, const fi_ioc* results, std::size_t result_count,
                      std::uint64_t flags) {
  if (message->rma_iov_count != 1) return -FI_EINVAL;
  const Atomic atomic{form,        message->rma_iov->addr, message->rma_iov->key, message->datatype,
                      message->op, message->context};
  return start_pieces(id, message->addr, atomic, message->msg_iov, message->iov_count, comparands, compare_count,
                      results, result_count, flags);
}

template <AtomicForm form>
int valid(fid_ep*, fi_datatype datatype, fi_op operation, std::size_t* count) {
  if (!supported(form, datatype, operation)) return -FI_EOPNOTSUPP;
  *count = atomic_bytes_limit / element_bytes(datatype);
  return 0;
}

}  // namespace

fi_ops_atomic atomic_functions{
    .size = sizeof(fi_ops_atomic),
    .write = [](fid_ep* id, const void* buffer, std::size_t count, void*, fi_addr_t to, std::uint64_t offset,
                std::uint64_t key, fi_datatype datatype, fi_op operation, void* context) -> ssize_t {
      return start(id, to, {AtomicForm::write, offset, key, datatype, operation, context, count, buffer},
                   usual(id));
    },
    .writev = [](fid_ep* id, const fi_ioc* pieces, void**, std::size_t count, fi_addr_t to, std::uint64_t offset,
                 std::uint64_t key, fi_datatype datatype, fi_op operation, void* context) -> ssize_t {
      return start_pieces(id, to, {AtomicForm::write, offset, key, datatype, operation, context}, pieces, count,
                          nullptr, 0, nullptr, 0, usual(id));
    },
    .writemsg = [](fid_ep* id, const fi_msg_atomic* message, std::uint64_t flags) -> ssize_t {
      return start_message(id, AtomicForm::write, message, nullptr, 0, nullptr, 0, flags);
    },
    .inject = [](fid_ep* id, const void* buffer, std::size_t count, fi_addr_t to, std::uint64_t offset,
                 std::uint64_t key, fi_datatype datatype, fi_op operation) -> ssize_t {
      return start(id, to, {AtomicForm::write, offset, key, datatype, operation, nullptr, count, buffer},
                   injecting, true);
    },
    .readwrite = [](fid_ep* id, const void* buffer, std::size_t count, void*, void* result, void*, fi_addr_t to,
                    std::uint64_t offset, std::uint64_t key, fi_datatype datatype, fi_op operation,
                    void* context) -> ssize_t {
      return start(id, to,
                   {AtomicForm::fetch, offset, key, datatype, operation, context, count, buffer, nullptr, result},
                   usual(id));
    },
    .readwritev = [](fid_ep* id, const fi_ioc* pieces, void**, std::size_t count, fi_ioc* results, void**,
                     std::size_t result_count, fi_addr_t to, std::uint64_t offset, std::uint64_t key,
                     fi_datatype datatype, fi_op operation, void* context) -> ssize_t {
      return start_pieces(id, to, {AtomicForm::fetch, offset, key, datatype, operation, context}, pieces, count,
                          nullptr, 0, results, result_count, usual(id));
    },
    .readwritemsg = [](fid_ep* id, const fi_msg_atomic* message, fi_ioc* results, void**, std::size_t result_count,
                       std::uint64_t flags) -> ssize_t {
      return start_message(id, AtomicForm::fetch, message, nullptr, 0, results, result_count, flags);
    },
    .compwrite = [](fid_ep* id, const void* buffer, std::size_t count, void*, const void* compare, void*,
                    void* result, void*, fi_addr_t to, std::uint64_t offset, std::uint64_t key,
                    fi_datatype datatype, fi_op operation, void* context) -> ssize_t {
      return start(
          id, to, {AtomicForm::compare, offset, key, datatype, operation, context, count, buffer, compare, result},
          usual(id));
    },
    .compwritev = [](fid_ep* id, const fi_ioc* pieces, void**, std::size_t count, const fi_ioc* comparands, void**,
                     std::size_t compare_count, fi_ioc* results, void**, std::size_t result_count, fi_addr_t to,
                     std::uint64_t offset, std::uint64_t key, fi_datatype datatype, fi_op operation,
                     void* context) -> ssize_t {
      return start_pieces(id, to, {AtomicForm::compare, offset, key, datatype, operation, context}, pieces, count,
                          comparands, compare_count, results, result_count, usual(id));
    },
    .compwritemsg = [](fid_ep* id, const fi_msg_atomic* message, const fi_ioc* comparands, void**,
                       std::size_t compare_count, fi_ioc* results, void**, std::size_t result_count,
                       std::uint64_t flags) -> ssize_t {
      return start_message(id, AtomicForm::compare, message, comparands, compare_count, results, result_count,
                           flags);
    },
    .writevalid = valid<AtomicForm::write>,
    .readwritevalid = valid<AtomicForm::fetch>,
    .compwritevalid = valid<AtomicForm::compare>};

int query_atomic(fid_domain*, fi_datatype datatype, fi_op operation, fi_atomic_attr* attributes,
                 std::uint64_t flags) {
  const AtomicForm form = flags & FI_FETCH_ATOMIC     ? AtomicForm::fetch
                          : flags & FI_COMPARE_ATOMIC ? AtomicForm::compare
                                                      : AtomicForm::write;
  if (!supported(form, datatype, operation)) return -FI_EOPNOTSUPP;
  attributes->size = element_bytes(datatype);
  attributes->count = atomic_bytes_limit / attributes->size;
  return 0;
}

}  // namespace scope::provider
