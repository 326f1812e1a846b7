// network.request: a request and its answer over TCP, as naive programs send them.
//
// Timed: on the client (rank 0), from the first send of a request in pieces until the one-byte answer of the
// server (rank 1) arrives; the server answers when the whole request has arrived. If the second piece waits for an
// acknowledgement of the first (Nagle) and the server delays it, the pair stalls. Over a connection that is new
// for every repetition, a long request begins slowly. Connecting is not timed.
#include "benchmarks/network/transport_parameters.hpp"

namespace scope::request {
namespace {

class Request final : public Benchmark {
 public:
  Request(const Parameters& parameters, const Communicator& communicator)
      : parameters_(parameters),
        client_(communicator.root()),
        fresh_(parameters.choice("connection") == "fresh"),
        pieces_(parameters.integer("pieces")),
        partner_(partner_in(communicator)),
        transport_(connect()),
        message_(checked(parameters)) {}

  Work work() const override { return {.bytes = static_cast<double>(message_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    answer_[0] = std::byte{0};
    expected_ = static_cast<std::byte>(pattern_word(seed, 1));
    client_ ? write_pattern(message_.bytes(), seed) : message_.clear();
  }

  void run(Repetition& repetition) override {
    if (fresh_) {
      transport_.reset();
      transport_ = connect();
    }
    if (client_) {
      repetition.time([this] {
        const std::size_t piece = message_.size() / pieces_;
        for (std::int64_t i = 0; i < pieces_; ++i) transport_->send(message_.bytes().subspan(i * piece, piece));
        transport_->receive(answer_);
      });
    } else {
      repetition.time([this] {
        transport_->receive(message_.bytes());
        answer_[0] = expected_;
        transport_->send(answer_);
      });
    }
  }

  Check verify(std::uint64_t seed) override {
    if (client_) return {1, answer_[0] == expected_ ? "" : "the answer is not the server's"};
    return {static_cast<std::int64_t>(message_.size()), pattern_problem(message_.bytes(), seed)};
  }

  std::span<std::byte> received() override { return client_ ? std::span(answer_) : message_.bytes(); }

  bool loops() const override { return !fresh_; }
  bool prepares() const override { return fresh_; }

 private:
  std::unique_ptr<Transport> connect() const {
    return scope::connect("tcp", partner_,
                          TransportOptions{.sleeps = parameters_.choice("wait") == "blocking",
                                           .nodelay = parameters_.choice("nodelay") == "on"});
  }
  static std::int64_t checked(const Parameters& parameters) {
    const std::int64_t bytes = parameters.integer("message_bytes");
    const std::int64_t pieces = parameters.integer("pieces");
    if (bytes % pieces == 0) return bytes;
    throw Unavailable(sentence({"message_bytes=", bytes, ": must be a multiple of pieces=", pieces}));
  }

  Parameters parameters_;
  bool client_;
  bool fresh_;
  std::int64_t pieces_;
  Partner partner_;
  std::unique_ptr<Transport> transport_;
  Buffer message_;
  std::array<std::byte, 1> answer_{};
  std::byte expected_{};
};

const Registration registration{{
    .name = "network.request",
    .title = "request and answer",
    .summary = "request sent in pieces, and its answer, over TCP: Nagle, delayed acknowledgements, slow start",
    .ranks = Ranks::exactly(2),
    .parameters =
        {size("message_bytes", "B", 512, 1, 1 << 30, "size of the whole request"),
         call("pieces", "", 1, 1, 64, "number of sends that make up the request").worded("1=1 piece,{} pieces"),
         path("connection", "used,fresh", "one connection for all requests, or a new one for each")
             .worded(",new connection"),
         path("nodelay", "on,off", "TCP_NODELAY: send small messages immediately").worded(",without TCP_NODELAY"),
         path("wait", "polling,blocking", "poll as MPI libraries do, or sleep in the kernel").worded(",sleeping")},
    .definition = Definition::local,
    .metrics = {seconds("response_s")},
    .sweeps = {{"baseline", "ranks=2 pieces=1,2 nodelay=on,off message_bytes=512"},
               {"standard", "ranks=2 connection=used,fresh message_bytes=1,64Ki,1Mi"},
               {"standard", "ranks=2 placement=node pieces=1,2 nodelay=on,off message_bytes=512"},
               {"standard", "ranks=2 placement=node connection=used,fresh message_bytes=1,64Ki,1Mi"}},
    .make = make<Request>,
}};

}  // namespace
}  // namespace scope::request
