// mpi.datatypes: the cost of sending non-contiguous data.
//
// Timed: a ping-pong of message_bytes on rank 0's clock; the one-way latency is reported. The data are contiguous,
// or in blocks with gaps as long as the blocks, described by MPI_Type_vector or MPI_Type_indexed, packed by
// MPI_Pack, or copied by a plain loop. Packing and unpacking are part of the message and are timed.

#include "benchmarks/mpi/echo.hpp"
#include "mpi/datatype.hpp"

namespace scope::datatypes {
namespace {

constexpr int tag = 16;

Datatype type_of(const std::string& layout, int blocks, int block_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (layout == "contiguous") {
    MPI_Type_contiguous(blocks * block_bytes, MPI_BYTE, &type);
  } else if (layout == "indexed") {
    std::vector<int> places(blocks);
    for (int i = 0; i < blocks; ++i) places[i] = 2 * i * block_bytes;
    MPI_Type_indexed(blocks, std::vector<int>(blocks, block_bytes).data(), places.data(), MPI_BYTE, &type);
  } else {
    MPI_Type_vector(blocks, block_bytes, 2 * block_bytes, MPI_BYTE, &type);
  }
  return Datatype(type);
}

class Datatypes final : public Benchmark {
 public:
  Datatypes(const Parameters& parameters, const Communicator& communicator)
      : layout_(parameters.choice("layout")),
        first_(communicator.root()),
        partner_(1 - communicator.rank()),
        comm_(communicator.handle()),
        block_bytes_(static_cast<int>(parameters.integer("block_bytes"))),
        blocks_(blocks(parameters.integer("message_bytes"), block_bytes_)),
        stride_(layout_ == "contiguous" ? block_bytes_ : 2 * block_bytes_),
        type_(type_of(layout_, blocks_, block_bytes_)),
        data_(static_cast<std::size_t>(blocks_) * stride_),
        packed_(static_cast<std::size_t>(blocks_) * block_bytes_),
        expected_(packed_.size()) {
    data_.clear();
    packed_.clear();
  }

  Work work() const override { return {.bytes = static_cast<double>(packed_.size()), .messages = 1}; }

  void fill(std::uint64_t seed) override {
    data_.clear();
    if (!first_) return;
    write_pattern(expected_.bytes(), seed);
    for (int i = 0; i < blocks_; ++i) std::memcpy(block(i), in(expected_, i), block_bytes_);
  }

  void run(Repetition& repetition) override {
    if (layout_ == "hand_packed") {
      time_round_trips(repetition, first_, [this] { pack_and_send(); }, [this] { receive_and_unpack(); });
    } else if (layout_ == "mpi_pack") {
      time_round_trips(repetition, first_, [this] { mpi_pack_and_send(); }, [this] { receive_and_mpi_unpack(); });
    } else {
      time_round_trips(
          repetition, first_, [this] { MPI_Send(data_.data(), 1, type_.handle(), partner_, tag, comm_); },
          [this] { MPI_Recv(data_.data(), 1, type_.handle(), partner_, tag, comm_, MPI_STATUS_IGNORE); });
    }
  }

  // Checks that the blocks contain the message and that the gaps are unchanged.
  Check verify(std::uint64_t seed) override {
    Check check{static_cast<std::int64_t>(data_.size()), ""};
    write_pattern(expected_.bytes(), seed);
    for (int i = 0; i < blocks_ && check.problem.empty(); ++i) {
      if (std::memcmp(block(i), in(expected_, i), block_bytes_) != 0)
        check.problem = sentence({"block ", i, " is wrong"});
      for (int gap = block_bytes_; gap < stride_ && check.problem.empty(); ++gap)
        if (block(i)[gap] != std::byte{0})
          check.problem = sentence({"data were written into the gap after block ", i});
    }
    return check;
  }

  std::span<std::byte> received() override { return data_.bytes(); }

 private:
  static int blocks(std::int64_t message_bytes, int block_bytes) {
    if (message_bytes % block_bytes == 0) return static_cast<int>(message_bytes / block_bytes);
    throw Unavailable(sentence({"message_bytes=", message_bytes, " block_bytes=", block_bytes,
                                ": message_bytes must be a multiple of block_bytes"}));
  }

  std::byte* block(int i) { return data_.data() + static_cast<std::size_t>(i) * stride_; }
  std::byte* in(Buffer& together, int i) { return together.data() + static_cast<std::size_t>(i) * block_bytes_; }
  int packed_bytes() const { return static_cast<int>(packed_.size()); }

  void send_packed() { MPI_Send(packed_.data(), packed_bytes(), MPI_BYTE, partner_, tag, comm_); }
  void receive_packed() {
    MPI_Recv(packed_.data(), packed_bytes(), MPI_BYTE, partner_, tag, comm_, MPI_STATUS_IGNORE);
  }
  void pack_and_send() {
    for (int i = 0; i < blocks_; ++i) std::memcpy(in(packed_, i), block(i), block_bytes_);
    send_packed();
  }
  void receive_and_unpack() {
    receive_packed();
    for (int i = 0; i < blocks_; ++i) std::memcpy(block(i), in(packed_, i), block_bytes_);
  }
  void mpi_pack_and_send() {
    int position = 0;
    MPI_Pack(data_.data(), 1, type_.handle(), packed_.data(), packed_bytes(), &position, comm_);
    MPI_Send(packed_.data(), position, MPI_PACKED, partner_, tag, comm_);
  }
  void receive_and_mpi_unpack() {
    int position = 0;
    MPI_Recv(packed_.data(), packed_bytes(), MPI_PACKED, partner_, tag, comm_, MPI_STATUS_IGNORE);
    MPI_Unpack(packed_.data(), packed_bytes(), &position, data_.data(), 1, type_.handle(), comm_);
  }

  std::string layout_;
  bool first_;
  int partner_;
  MPI_Comm comm_;
  int block_bytes_;
  int blocks_;
  int stride_;
  Datatype type_;
  Buffer data_;
  Buffer packed_;
  Buffer expected_;
};

const Registration registration{{
    .name = "mpi.datatypes",
    .title = "derived datatypes",
    .summary = "ping-pong of non-contiguous data: derived datatypes against manual packing",
    .ranks = Ranks::exactly(2),
    .parameters = {layout("layout", "vector,contiguous,indexed,hand_packed,mpi_pack",
                          "layout of the blocks, and who packs them")
                       .worded("vector,contiguous,indexed,packed by hand,MPI_Pack"),
                   size("message_bytes", "B", 1 << 16, 1, 1 << 28, "payload of each message"),
                   layout("block_bytes", "B", 8, 1, 1 << 20, "length of a block and of the gap after it")},
    .definition = Definition::half_round_trip,
    .metrics = {seconds("time_s"), bytes_per_second()},
    .sweeps = {{"baseline", "ranks=2 layout=contiguous,vector,hand_packed block_bytes=8 message_bytes=64Ki"},
               {"standard",
                "ranks=2 placement=core,node layout=contiguous,vector,indexed,hand_packed,mpi_pack "
                "block_bytes=8,512 message_bytes=1Ki,64Ki,1Mi"}},
    .make = make<Datatypes>,
}};

}  // namespace
}  // namespace scope::datatypes
