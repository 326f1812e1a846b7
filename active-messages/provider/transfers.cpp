// The calls that move bytes: messages, tagged messages, remote memory. All forms of a call become one.
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <utility>

#include "endpoint.hpp"
#include "information.hpp"

namespace scope::provider {
namespace {

// Memory of one buffer, as iovec or not at all.
struct Buffer {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

bool one_buffer(const iovec* pieces, std::size_t count, Buffer& buffer) {
  if (count > 1) return false;
  if (count == 1) buffer = {pieces->iov_base, pieces->iov_len};
  return true;
}

struct SendCall {
  fi_addr_t to;
  std::optional<std::uint64_t> tag = {};  // a tagged message
  std::optional<std::uint64_t> data = {};
  void* context = nullptr;
};

ssize_t send(fid_ep* id, Buffer buffer, const SendCall& call, std::uint64_t flags, bool silent = false) {
  return guarded([&] {
    Endpoint& endpoint = endpoint_of(id);
    const Guard guard(endpoint.domain.lock);
    if (!endpoint.exchange) return -FI_EOPBADSTATE;
    const std::optional<Peer> peer = endpoint.peer_of(call.to);
    if (!peer) return -FI_EINVAL;
    if ((flags & FI_INJECT) && buffer.bytes > inject_limit) return -FI_EMSGSIZE;
    return endpoint.exchange->send({.peer = *peer,
                                    .data = {static_cast<const std::byte*>(buffer.begin), buffer.bytes},
                                    .tag = call.tag.value_or(0),
                                    .remote_data = call.data,
                                    .context = call.context,
                                    .tagged = call.tag.has_value(),
                                    .completes = !silent && endpoint.send_completes(flags),
                                    .delivered = (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0,
                                    .injected = (flags & FI_INJECT) != 0});
  });
}

struct ReceiveCall {
  fi_addr_t from;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> tag = {};  // with the bits to ignore
  void* context = nullptr;
};

ssize_t receive(fid_ep* id, Buffer buffer, const ReceiveCall& call, std::uint64_t flags) {
  return guarded([&] {
    Endpoint& endpoint = endpoint_of(id);
    const Guard guard(endpoint.domain.lock);
    if (!endpoint.exchange) return -FI_EOPBADSTATE;
    const bool directed = endpoint.directed && call.from != FI_ADDR_UNSPEC;
    const std::optional<Peer> peer = directed ? endpoint.peer_of(call.from) : any_peer;
    const bool tagged = call.tag.has_value();
    Receive receive{.buffer = static_cast<std::byte*>(buffer.begin),
                    .bytes = buffer.bytes,
                    .source = peer.value_or(any_peer),
                    .tag = tagged ? call.tag->first : 0,
                    .ignore = tagged ? call.tag->second : 0,
                    .context = call.context,
                    .completes = endpoint.receive_completes(flags),
                    .shared = nullptr};
    const bool peek = (flags & FI_PEEK) != 0, claim = (flags & FI_CLAIM) != 0, discard = (flags & FI_DISCARD) != 0;
    if (claim && !peek) return endpoint.exchange->receive_claimed(receive, discard);
    if (!peer) return -FI_EINVAL;
    if (peek) {
      endpoint.exchange->peek(tagged, receive, claim, discard);
      return 0;
    }
    if (flags & FI_MULTI_RECV)
      receive.shared = std::make_shared<SharedBuffer>(
          SharedBuffer{receive.buffer, receive.bytes, endpoint.minimum_shared_bytes});
    endpoint.exchange->receive(tagged, std::move(receive));
    return 0;
  });
}

struct AccessCall {
  fi_addr_t to;
  std::uint64_t offset, key;
  std::optional<std::uint64_t> data = {};
  void* context = nullptr;
};

template <int (Exchange::*operation)(const Access&)>
ssize_t access(fid_ep* id, Buffer buffer, const AccessCall& call, std::uint64_t flags, bool silent = false) {
  return guarded([&] {
    Endpoint& endpoint = endpoint_of(id);
    const Guard guard(endpoint.domain.lock);
    if (!endpoint.exchange) return -FI_EOPBADSTATE;
    const std::optional<Peer> peer = endpoint.peer_of(call.to);
    if (!peer) return -FI_EINVAL;
    if ((flags & FI_INJECT) && buffer.bytes > inject_limit) return -FI_EMSGSIZE;
    return ((*endpoint.exchange).*operation)({.peer = *peer,
                                              .buffer = static_cast<std::byte*>(buffer.begin),
                                              .bytes = buffer.bytes,
                                              .offset = call.offset,
                                              .key = call.key,
                                              .remote_data = call.data,
                                              .context = call.context,
                                              .completes = !silent && endpoint.send_completes(flags),
                                              .injected = (flags & FI_INJECT) != 0});
  });
}

constexpr auto write = access<&Exchange::write>;
constexpr auto read = access<&Exchange::read>;

Buffer constant(const void* buffer, std::size_t bytes) { return {const_cast<void*>(buffer), bytes}; }

std::optional<std::uint64_t> data_of(std::uint64_t data, std::uint64_t flags) {
  return flags & FI_REMOTE_CQ_DATA ? std::optional(data) : std::nullopt;
}

// With the flags of the endpoint.
std::uint64_t sending(fid_ep* id) { return endpoint_of(id).send_flags; }
std::uint64_t receiving(fid_ep* id) { return endpoint_of(id).receive_flags; }

// An injected message is complete when the call returns, and tells nobody.
constexpr std::uint64_t injecting = FI_INJECT;

}  // namespace

fi_ops_msg message_functions{
    .size = sizeof(fi_ops_msg),
    .recv = [](fid_ep* id, void* buffer, std::size_t bytes, void*, fi_addr_t from, void* context) -> ssize_t {
      return receive(id, {buffer, bytes}, {.from = from, .context = context}, receiving(id));
    },
    .recvv = [](fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t from,
                void* context) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
      return receive(id, buffer, {.from = from, .context = context}, receiving(id));
    },
    .recvmsg = [](fid_ep* id, const fi_msg* message, std::uint64_t flags) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
      return receive(id, buffer, {.from = message->addr, .context = message->context}, flags);
    },
    .send = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, fi_addr_t to, void* context) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .context = context}, sending(id));
    },
    .sendv = [](fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t to,
                void* context) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
      return send(id, buffer, {.to = to, .context = context}, sending(id));
    },
    .sendmsg = [](fid_ep* id, const fi_msg* message, std::uint64_t flags) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
      return send(id, buffer,
                  {.to = message->addr, .data = data_of(message->data, flags), .context = message->context},
                  flags);
    },
    .inject = [](fid_ep* id, const void* buffer, std::size_t bytes, fi_addr_t to) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to}, injecting, true);
    },
    .senddata = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                   void* context) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .data = data, .context = context}, sending(id));
    },
    .injectdata = [](fid_ep* id, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to)
        -> ssize_t { return send(id, constant(buffer, bytes), {.to = to, .data = data}, injecting, true); }};

fi_ops_tagged tagged_functions{
    .size = sizeof(fi_ops_tagged),
    .recv = [](fid_ep* id, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t tag,
               std::uint64_t ignore, void* context) -> ssize_t {
      return receive(id, {buffer, bytes}, {.from = from, .tag = {{tag, ignore}}, .context = context},
                     receiving(id));
    },
    .recvv = [](fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t from, std::uint64_t tag,
                std::uint64_t ignore, void* context) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
      return receive(id, buffer, {.from = from, .tag = {{tag, ignore}}, .context = context}, receiving(id));
    },
    .recvmsg = [](fid_ep* id, const fi_msg_tagged* message, std::uint64_t flags) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
      return receive(
          id, buffer,
          {.from = message->addr, .tag = {{message->tag, message->ignore}}, .context = message->context}, flags);
    },
    .send = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, fi_addr_t to, std::uint64_t tag,
               void* context) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .tag = tag, .context = context}, sending(id));
    },
    .sendv = [](fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t to, std::uint64_t tag,
                void* context) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
      return send(id, buffer, {.to = to, .tag = tag, .context = context}, sending(id));
    },
    .sendmsg = [](fid_ep* id, const fi_msg_tagged* message, std::uint64_t flags) -> ssize_t {
      Buffer buffer;
      if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
      return send(id, buffer,
                  {.to = message->addr,
                   .tag = message->tag,
                   .data = data_of(message->data, flags),
                   .context = message->context},
                  flags);
    },
    .inject = [](fid_ep* id, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t tag) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .tag = tag}, injecting, true);
    },
    .senddata = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                   std::uint64_t tag, void* context) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .tag = tag, .data = data, .context = context},
                  sending(id));
    },
    .injectdata = [](fid_ep* id, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                     std::uint64_t tag) -> ssize_t {
      return send(id, constant(buffer, bytes), {.to = to, .tag = tag, .data = data}, injecting, true);
    }};

namespace {

template <auto operation>
ssize_t access_message(fid_ep* id, const fi_msg_rma* message, std::uint64_t flags) {
  Buffer buffer;
  if (!one_buffer(message->msg_iov, message->iov_count, buffer) || message->rma_iov_count != 1 ||
      message->rma_iov->len != buffer.bytes)
    return -FI_EINVAL;
  return operation(id, buffer,
                   {.to = message->addr,
                    .offset = message->rma_iov->addr,
                    .key = message->rma_iov->key,
                    .data = data_of(message->data, flags),
                    .context = message->context},
                   flags, false);
}

template <auto operation>
ssize_t access_pieces(fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t to,
                      std::uint64_t offset, std::uint64_t key, void* context) {
  Buffer buffer;
  if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
  return operation(id, buffer, {.to = to, .offset = offset, .key = key, .context = context}, sending(id), false);
}

}  // namespace

fi_ops_rma access_functions{
    .size = sizeof(fi_ops_rma),
    .read = [](fid_ep* id, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t offset,
               std::uint64_t key, void* context) -> ssize_t {
      return read(id, {buffer, bytes}, {.to = from, .offset = offset, .key = key, .context = context}, sending(id),
                  false);
    },
    .readv = access_pieces<read>,
    .readmsg = access_message<read>,
    .write = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, fi_addr_t to, std::uint64_t offset,
                std::uint64_t key, void* context) -> ssize_t {
      return write(id, constant(buffer, bytes), {.to = to, .offset = offset, .key = key, .context = context},
                   sending(id), false);
    },
    .writev = access_pieces<write>,
    .writemsg = access_message<write>,
    .inject = [](fid_ep* id, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t offset,
                 std::uint64_t key) -> ssize_t {
      return write(id, constant(buffer, bytes), {.to = to, .offset = offset, .key = key}, injecting, true);
    },
    .writedata = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                    std::uint64_t offset, std::uint64_t key, void* context) -> ssize_t {
      return write(id, constant(buffer, bytes),
                   {.to = to, .offset = offset, .key = key, .data = data, .context = context}, sending(id), false);
    },
    .injectdata = [](fid_ep* id, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                     std::uint64_t offset, std::uint64_t key) -> ssize_t {
      return write(id, constant(buffer, bytes), {.to = to, .offset = offset, .key = key, .data = data}, injecting,
                   true);
    }};

}  // namespace scope::provider
