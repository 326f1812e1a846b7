#include "collectives.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "communicator.hpp"
#include "executor.hpp"
#include "layout.hpp"

// Invalid arguments are passed to the MPI library, which reports the errors.

namespace scope {

namespace {

constexpr std::int64_t most_int = std::numeric_limits<int>::max();

using Bytes = std::unique_ptr<char[]>;

Bytes bytes(std::int64_t count) {
  return std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(count > 0 ? count : 1));
}

bool usable(int count, MPI_Datatype type) { return count >= 0 && type != MPI_DATATYPE_NULL; }

bool is_rank(int root, const Communicator& here) { return root >= 0 && root < here.size(); }

// The address of the element with this number.
const void* element(const void* begin, MPI_Datatype type, std::int64_t number) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return static_cast<const char*>(begin) + number * extent;
}
void* element(void* begin, MPI_Datatype type, std::int64_t number) {
  return const_cast<void*>(element(static_cast<const void*>(begin), type, number));
}

// Whether blocks in this order are arranged as in the program's own buffers.
bool in_order_of_ranks(const std::vector<int>& order) { return std::is_sorted(order.begin(), order.end()); }

// Whether operands may be reordered, as our algorithms do.
bool reorderable(MPI_Op op) {
  int commutes = 0;
  return op != MPI_OP_NULL && PMPI_Op_commutative(op, &commutes) == MPI_SUCCESS && commutes;
}

// The contribution or result of one rank in gather, scatter, allgather and alltoall.
struct Block {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::int64_t size() const { return count * packed_bytes(type); }
};

// Whether all ranks can move the block: it is not empty, and not too large to pack.
bool movable(const Block& block, int ranks) {
  const std::int64_t size = block.size();
  return size > 0 && size <= most_int / ranks;
}

int pack_block(const void* from, const Block& block, std::int64_t index, char* to, MPI_Comm comm) {
  return pack(element(from, block.type, index * block.count), block.count, block.type, to, comm);
}

int unpack_block(const char* from, const Block& block, std::int64_t index, void* to, MPI_Comm comm) {
  return unpack(from, block.size(), element(to, block.type, index * block.count), block.count, block.type, comm);
}

Memory reduction_memory(MPI_Datatype type, MPI_Op op) {
  Memory memory;
  memory.unit = type;
  memory.op = op;
  MPI_Aint lower = 0;
  PMPI_Type_get_extent(type, &lower, &memory.extent);
  return memory;
}

}  // namespace

int broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const auto pass = [&] { return PMPI_Bcast(buffer, count, type, root, comm); };
  if (!usable(count, type)) return pass();
  const std::int64_t size = count * packed_bytes(type);
  Communicator* const here = Communicator::of(comm);
  if (!here || size <= 0 || !is_rank(root, *here)) return pass();
  const bool direct = is_contiguous(type);
  if (size > most_int) return pass();
  const Decision* const decision = here->decide(Operation::broadcast, root, size, 1);
  if (!decision) return pass();
  const Bytes packed = direct ? nullptr : bytes(size);
  Memory memory;
  memory.work = direct ? buffer : packed.get();
  memory.incoming = memory.work;  // only empty messages arrive there
  int code = MPI_SUCCESS;
  if (!direct && here->rank() == root) code = pack(buffer, count, type, packed.get(), comm);
  if (code == MPI_SUCCESS) code = execute(decision->program, memory, here->own());
  if (code == MPI_SUCCESS && !direct && here->rank() != root)
    code = unpack(packed.get(), size, buffer, count, type, comm);
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const auto pass = [&] { return PMPI_Reduce(send, receive, count, type, op, root, comm); };
  if (!usable(count, type) || count == 0 || !reorderable(op)) return pass();
  const std::int64_t size = packed_bytes(type);
  Communicator* const here = Communicator::of(comm);
  if (!here || size <= 0 || !is_rank(root, *here)) return pass();
  const Decision* const decision = here->decide(Operation::reduce, root, count, size);
  if (!decision) return pass();
  const Program& program = decision->program;
  const bool at_root = here->rank() == root;
  Memory memory = reduction_memory(type, op);
  memory.input = send == MPI_IN_PLACE ? receive : send;
  Elements work, incoming(type, program.extent(Space::incoming));
  if (!at_root && program.extent(Space::work) > 0) work = Elements(type, count);
  memory.work = at_root ? receive : work.address();
  memory.incoming = incoming.address();
  int code = MPI_SUCCESS;
  if (memory.work) code = copy_elements(memory.input, memory.work, count, type);
  if (code == MPI_SUCCESS) code = execute(program, memory, here->own());
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto pass = [&] { return PMPI_Allreduce(send, receive, count, type, op, comm); };
  if (!usable(count, type) || count == 0 || !reorderable(op)) return pass();
  const std::int64_t size = packed_bytes(type);
  Communicator* const here = Communicator::of(comm);
  if (!here || size <= 0) return pass();
  const Decision* const decision = here->decide(Operation::allreduce, 0, count, size);
  if (!decision) return pass();
  const Program& program = decision->program;
  Memory memory = reduction_memory(type, op);
  memory.input = send == MPI_IN_PLACE ? receive : send;
  memory.result = receive;
  // Segments that come down must not overwrite segments that still go up.
  const bool apart = program.extent(Space::result) > 0;
  const bool copied = apart && (program.extent(Space::work) > 0 || send == MPI_IN_PLACE);
  Elements work, incoming(type, program.extent(Space::incoming));
  if (copied) work = Elements(type, count);
  memory.work = apart ? work.address() : receive;
  memory.incoming = incoming.address();
  int code = MPI_SUCCESS;
  if (memory.work) code = copy_elements(memory.input, memory.work, count, type);
  if (copied) memory.input = memory.work;
  if (code == MPI_SUCCESS) code = execute(program, memory, here->own());
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int barrier(MPI_Comm comm) {
  Communicator* const here = Communicator::of(comm);
  const Decision* const decision = here ? here->decide(Operation::barrier, 0, 0, 1) : nullptr;
  if (!decision) return PMPI_Barrier(comm);
  char nothing = 0;
  Memory memory;
  memory.work = &nothing;
  const int code = execute(decision->program, memory, here->own());
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const auto pass = [&] {
    return PMPI_Gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
  };
  Communicator* const here = Communicator::of(comm);
  if (!here || !is_rank(root, *here)) return pass();
  const bool at_root = here->rank() == root;
  const bool in_place = at_root && send == MPI_IN_PLACE;
  const Block given = in_place ? Block{receive_count, receive_type} : Block{send_count, send_type};
  const Block taken{receive_count, receive_type};
  if (!usable(given.count, given.type) || (at_root && !usable(taken.count, taken.type))) return pass();
  if (!movable(given, here->size())) return pass();
  const std::int64_t size = given.size();
  const Decision* const decision = here->decide(Operation::gather, root, size, 1);
  if (!decision) return pass();
  const Program& program = decision->program;
  const Bytes work = bytes(std::max(size, program.extent(Space::work)));
  int code = pack_block(in_place ? receive : send, given, in_place ? root : 0, work.get(), comm);
  Memory memory;
  memory.input = memory.work = work.get();
  if (code == MPI_SUCCESS) code = execute(program, memory, here->own());
  for (std::size_t i = 0; at_root && i < decision->order.size() && code == MPI_SUCCESS; ++i)
    if (!(in_place && decision->order[i] == root))
      code = unpack_block(work.get() + i * size, taken, decision->order[i], receive, comm);
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm) {
  const auto pass = [&] {
    return PMPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
  };
  Communicator* const here = Communicator::of(comm);
  if (!here || !is_rank(root, *here)) return pass();
  const bool at_root = here->rank() == root;
  const bool in_place = at_root && receive == MPI_IN_PLACE;
  const Block given{send_count, send_type};
  const Block taken = at_root ? given : Block{receive_count, receive_type};
  if (!usable(taken.count, taken.type) || (at_root && !in_place && !usable(receive_count, receive_type)))
    return pass();
  if (!movable(taken, here->size())) return pass();
  const std::int64_t size = taken.size();
  const Decision* const decision = here->decide(Operation::scatter, root, size, 1);
  if (!decision) return pass();
  const Program& program = decision->program;
  const Bytes work = bytes(std::max(size, program.extent(Space::work)));
  int code = MPI_SUCCESS;
  for (std::size_t i = 0; at_root && i < decision->order.size() && code == MPI_SUCCESS; ++i)
    code = pack_block(send, given, decision->order[i], work.get() + i * size, comm);
  Memory memory;
  memory.work = work.get();
  if (code == MPI_SUCCESS) code = execute(program, memory, here->own());
  if (code == MPI_SUCCESS && !in_place)
    code = unpack_block(work.get(), {receive_count, receive_type}, 0, receive, comm);
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm) {
  const auto pass = [&] {
    return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
  };
  Communicator* const here = Communicator::of(comm);
  const bool in_place = send == MPI_IN_PLACE;
  const Block taken{receive_count, receive_type};
  if (!here || !usable(taken.count, taken.type) || (!in_place && !usable(send_count, send_type))) return pass();
  if (!movable(taken, here->size())) return pass();
  const std::int64_t size = taken.size();
  const Decision* const decision = here->decide(Operation::allgather, 0, size, 1);
  if (!decision) return pass();
  const std::vector<int>& order = decision->order;
  const bool direct = in_order_of_ranks(order) && is_contiguous(receive_type);
  const Bytes packed = direct ? nullptr : bytes(size * here->size());
  char* const work = direct ? static_cast<char*>(receive) : packed.get();
  int code = MPI_SUCCESS;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] == here->rank() && !(direct && in_place))
      code = in_place ? pack_block(receive, taken, here->rank(), work + i * size, comm)
                      : pack_block(send, {send_count, send_type}, 0, work + i * size, comm);
  const Bytes incoming = bytes(decision->program.extent(Space::incoming));
  Memory memory;
  memory.work = work;
  memory.incoming = incoming.get();
  if (code == MPI_SUCCESS) code = execute(decision->program, memory, here->own());
  for (std::size_t i = 0; !direct && i < order.size() && code == MPI_SUCCESS; ++i)
    if (!(in_place && order[i] == here->rank()))
      code = unpack_block(work + i * size, taken, order[i], receive, comm);
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

int alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
  const auto pass = [&] {
    return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
  };
  Communicator* const here = Communicator::of(comm);
  const bool in_place = send == MPI_IN_PLACE;
  const Block taken{receive_count, receive_type};
  const Block given = in_place ? taken : Block{send_count, send_type};
  if (!here || !usable(taken.count, taken.type) || !usable(given.count, given.type)) return pass();
  if (!movable(taken, here->size())) return pass();
  const std::int64_t size = taken.size();
  const Decision* const decision = here->decide(Operation::alltoall, 0, size, 1);
  if (!decision) return pass();
  const Program& program = decision->program;
  const std::vector<int>& order = decision->order;
  const bool direct =
      in_order_of_ranks(order) && !in_place && is_contiguous(send_type) && is_contiguous(receive_type);
  const Bytes packed_input = direct ? nullptr : bytes(size * here->size());
  const Bytes packed_result = direct ? nullptr : bytes(size * here->size());
  const Bytes work = bytes(program.extent(Space::work));
  const char* const input = direct ? static_cast<const char*>(send) : packed_input.get();
  char* const result = direct ? static_cast<char*>(receive) : packed_result.get();
  int code = MPI_SUCCESS;
  for (std::size_t i = 0; i < order.size() && code == MPI_SUCCESS; ++i) {
    if (!direct)
      code = pack_block(in_place ? receive : send, given, order[i], packed_input.get() + i * size, comm);
    if (order[i] == here->rank()) std::copy_n(input + i * size, size, result + i * size);
  }
  Memory memory;
  memory.input = input;
  memory.work = work.get();
  memory.result = result;
  if (code == MPI_SUCCESS) code = execute(program, memory, here->own());
  for (std::size_t i = 0; !direct && i < order.size() && code == MPI_SUCCESS; ++i)
    code = unpack_block(result + i * size, taken, order[i], receive, comm);
  return code == MPI_SUCCESS ? code : here->fail(comm, code);
}

}  // namespace scope
