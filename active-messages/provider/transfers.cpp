// The calls that move bytes: messages, tagged messages, remote memory. All forms of a call are mapped to one.
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <utility>

#include "endpoint.hpp"
#include "information.hpp"

namespace scope::provider {
namespace {

// Memory of one buffer, from at most one iovec.
struct Buffer {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

bool one_buffer(const iovec* pieces, std::size_t count, Buffer& buffer) {
  if (count > 1) return false;
  if (count == 1) buffer = {pieces->iov_base, pieces->iov_len};
  return true;
}

ssize_t send(fid_ep* id, fi_addr_t to, Buffer buffer, Send send, std::uint64_t flags, bool silent = false) {
  return locked_peer(id, to, [&](Endpoint& endpoint, Peer peer) {
    if ((flags & FI_INJECT) && buffer.bytes > inject_limit) return -FI_EMSGSIZE;
    send.peer = peer;
    send.data = {static_cast<const std::byte*>(buffer.begin), buffer.bytes};
    send.completes = !silent && endpoint.send_completes(flags);
    send.delivered = (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0;
    send.injected = (flags & FI_INJECT) != 0;
    return endpoint.exchange->send(send);
  });
}

struct ReceiveCall {
  fi_addr_t from;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> tag = {};  // with the bits to ignore
  void* context = nullptr;
};

ssize_t receive(fid_ep* id, Buffer buffer, const ReceiveCall& call, std::uint64_t flags) {
  return locked_exchange(&id->fid, [&](Endpoint& endpoint) {
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

template <int (Exchange::*operation)(const Access&)>
ssize_t access(fid_ep* id, fi_addr_t to, Buffer buffer, Access access, std::uint64_t flags, bool silent = false) {
  return locked_peer(id, to, [&](Endpoint& endpoint, Peer peer) {
    if ((flags & FI_INJECT) && buffer.bytes > inject_limit) return -FI_EMSGSIZE;
    access.peer = peer;
    access.buffer = static_cast<std::byte*>(buffer.begin);
    access.bytes = buffer.bytes;
    access.completes = !silent && endpoint.send_completes(flags);
    access.injected = (flags & FI_INJECT) != 0;
    return ((*endpoint.exchange).*operation)(access);
  });
}

constexpr auto write = access<&Exchange::write>;
constexpr auto read = access<&Exchange::read>;

Buffer constant(const void* buffer, std::size_t bytes) { return {const_cast<void*>(buffer), bytes}; }

std::optional<std::uint64_t> data_of(std::uint64_t data, std::uint64_t flags) {
  return flags & FI_REMOTE_CQ_DATA ? std::optional(data) : std::nullopt;
}

// The endpoint's flags for sends.
std::uint64_t sending(fid_ep* id) { return endpoint_of(id).send_flags; }
std::uint64_t receiving(fid_ep* id) { return endpoint_of(id).receive_flags; }

// An injected message is complete when the call returns, and is not reported.
constexpr std::uint64_t injecting = FI_INJECT;

// The calls that send, plain (without `Tag`) or tagged.
template <class Message, class... Tag>
struct Sends {
  static std::optional<std::uint64_t> tag_of(const fi_msg&) { return std::nullopt; }
  static std::optional<std::uint64_t> tag_of(const fi_msg_tagged& message) { return message.tag; }
  static std::optional<std::uint64_t> tag_of() { return std::nullopt; }
  static std::optional<std::uint64_t> tag_of(std::uint64_t tag) { return tag; }

  static ssize_t buffer(fid_ep* id, const void* begin, std::size_t bytes, void*, fi_addr_t to, Tag... tag,
                        void* context) {
    return send(id, to, constant(begin, bytes), {context, tag_of(tag...)}, sending(id));
  }
  static ssize_t pieces(fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t to, Tag... tag,
                        void* context) {
    Buffer buffer;
    if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
    return send(id, to, buffer, {context, tag_of(tag...)}, sending(id));
  }
  static ssize_t message(fid_ep* id, const Message* message, std::uint64_t flags) {
    Buffer buffer;
    if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
    return send(id, message->addr, buffer, {message->context, tag_of(*message), data_of(message->data, flags)},
                flags);
  }
  static ssize_t inject(fid_ep* id, const void* begin, std::size_t bytes, fi_addr_t to, Tag... tag) {
    return send(id, to, constant(begin, bytes), {nullptr, tag_of(tag...)}, injecting, true);
  }
  static ssize_t with_data(fid_ep* id, const void* begin, std::size_t bytes, void*, std::uint64_t data,
                           fi_addr_t to, Tag... tag, void* context) {
    return send(id, to, constant(begin, bytes), {context, tag_of(tag...), data}, sending(id));
  }
  static ssize_t inject_with_data(fid_ep* id, const void* begin, std::size_t bytes, std::uint64_t data,
                                  fi_addr_t to, Tag... tag) {
    return send(id, to, constant(begin, bytes), {nullptr, tag_of(tag...), data}, injecting, true);
  }
};

// The calls that receive, plain or tagged: with the tag and the bits to ignore.
template <class Message, class... Tag>
struct Receives {
  static ReceiveCall call(fi_addr_t from, void* context) { return {.from = from, .context = context}; }
  static ReceiveCall call(fi_addr_t from, std::uint64_t tag, std::uint64_t ignore, void* context) {
    return {.from = from, .tag = {{tag, ignore}}, .context = context};
  }
  static ReceiveCall call_of(const fi_msg& message) { return call(message.addr, message.context); }
  static ReceiveCall call_of(const fi_msg_tagged& message) {
    return call(message.addr, message.tag, message.ignore, message.context);
  }

  static ssize_t buffer(fid_ep* id, void* begin, std::size_t bytes, void*, fi_addr_t from, Tag... tag,
                        void* context) {
    return receive(id, {begin, bytes}, call(from, tag..., context), receiving(id));
  }
  static ssize_t pieces(fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t from, Tag... tag,
                        void* context) {
    Buffer buffer;
    if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
    return receive(id, buffer, call(from, tag..., context), receiving(id));
  }
  static ssize_t message(fid_ep* id, const Message* message, std::uint64_t flags) {
    Buffer buffer;
    if (!one_buffer(message->msg_iov, message->iov_count, buffer)) return -FI_EINVAL;
    return receive(id, buffer, call_of(*message), flags);
  }
};

template <class Functions, class Receiving, class Sending>
Functions functions() {
  return {.size = sizeof(Functions),
          .recv = Receiving::buffer,
          .recvv = Receiving::pieces,
          .recvmsg = Receiving::message,
          .send = Sending::buffer,
          .sendv = Sending::pieces,
          .sendmsg = Sending::message,
          .inject = Sending::inject,
          .senddata = Sending::with_data,
          .injectdata = Sending::inject_with_data};
}

}  // namespace

fi_ops_msg message_functions = functions<fi_ops_msg, Receives<fi_msg>, Sends<fi_msg>>();
fi_ops_tagged tagged_functions = functions<fi_ops_tagged, Receives<fi_msg_tagged, std::uint64_t, std::uint64_t>,
                                           Sends<fi_msg_tagged, std::uint64_t>>();

namespace {

template <auto operation>
ssize_t access_message(fid_ep* id, const fi_msg_rma* message, std::uint64_t flags) {
  Buffer buffer;
  if (!one_buffer(message->msg_iov, message->iov_count, buffer) || message->rma_iov_count != 1 ||
      message->rma_iov->len != buffer.bytes)
    return -FI_EINVAL;
  return operation(id, message->addr, buffer,
                   {.offset = message->rma_iov->addr,
                    .key = message->rma_iov->key,
                    .remote_data = data_of(message->data, flags),
                    .context = message->context},
                   flags, false);
}

template <auto operation>
ssize_t access_pieces(fid_ep* id, const iovec* pieces, void**, std::size_t count, fi_addr_t to,
                      std::uint64_t offset, std::uint64_t key, void* context) {
  Buffer buffer;
  if (!one_buffer(pieces, count, buffer)) return -FI_EINVAL;
  return operation(id, to, buffer, {.offset = offset, .key = key, .context = context}, sending(id), false);
}

}  // namespace

fi_ops_rma access_functions{
    .size = sizeof(fi_ops_rma),
    .read = [](fid_ep* id, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t offset,
               std::uint64_t key, void* context) -> ssize_t {
      return read(id, from, {buffer, bytes}, {.offset = offset, .key = key, .context = context}, sending(id),
                  false);
    },
    .readv = access_pieces<read>,
    .readmsg = access_message<read>,
    .write = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, fi_addr_t to, std::uint64_t offset,
                std::uint64_t key, void* context) -> ssize_t {
      return write(id, to, constant(buffer, bytes), {.offset = offset, .key = key, .context = context},
                   sending(id), false);
    },
    .writev = access_pieces<write>,
    .writemsg = access_message<write>,
    .inject = [](fid_ep* id, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t offset,
                 std::uint64_t key) -> ssize_t {
      return write(id, to, constant(buffer, bytes), {.offset = offset, .key = key}, injecting, true);
    },
    .writedata = [](fid_ep* id, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                    std::uint64_t offset, std::uint64_t key, void* context) -> ssize_t {
      return write(id, to, constant(buffer, bytes),
                   {.offset = offset, .key = key, .remote_data = data, .context = context}, sending(id), false);
    },
    .injectdata = [](fid_ep* id, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                     std::uint64_t offset, std::uint64_t key) -> ssize_t {
      return write(id, to, constant(buffer, bytes), {.offset = offset, .key = key, .remote_data = data}, injecting,
                   true);
    }};

}  // namespace scope::provider
