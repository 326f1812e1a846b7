#include "algorithms.hpp"

namespace scope {

namespace {

using enum Operation;

constexpr bool kFlat = true, kMultilevel = false;
constexpr Shape kAny[] = {Shape::binomial};
constexpr Shape kPassing[] = {Shape::binomial, Shape::chain, Shape::tail};
constexpr Shape kCollecting[] = {Shape::star, Shape::binomial};

constexpr Algorithm kTable[] = {
    // operation, name, flat, segmented, shapes
    {broadcast, "flat_binomial", kFlat, false, kAny, broadcast_flat_binomial},
    {broadcast, "multilevel_asynchronous", kMultilevel, false, kAny, broadcast_multilevel_asynchronous},
    {broadcast, "multilevel_blocking", kMultilevel, false, kAny, broadcast_multilevel_blocking},
    {broadcast, "multilevel_pipelined", kMultilevel, true, kPassing, broadcast_multilevel_pipelined},
    {reduce, "flat_binomial", kFlat, false, kAny, reduce_flat_binomial},
    {reduce, "multilevel_pipelined", kMultilevel, true, kPassing, reduce_multilevel_pipelined},
    {allreduce, "flat_recursive_doubling", kFlat, false, kAny, allreduce_flat_recursive_doubling},
    {allreduce, "flat_halving_doubling", kFlat, false, kAny, allreduce_flat_halving_doubling},
    {allreduce, "flat_ring", kFlat, false, kAny, allreduce_flat_ring},
    {allreduce, "multilevel_pipelined", kMultilevel, true, kPassing, allreduce_multilevel_pipelined},
    {barrier, "flat_dissemination", kFlat, false, kAny, barrier_flat_dissemination},
    {barrier, "multilevel_tree", kMultilevel, false, kAny, barrier_multilevel_tree},
    {gather, "flat_linear", kFlat, false, kAny, gather_flat_linear},
    {gather, "flat_binomial", kFlat, false, kAny, gather_flat_binomial},
    {gather, "multilevel_tree", kMultilevel, false, kCollecting, gather_multilevel_tree},
    {scatter, "flat_linear", kFlat, false, kAny, scatter_flat_linear},
    {scatter, "flat_binomial", kFlat, false, kAny, scatter_flat_binomial},
    {scatter, "multilevel_tree", kMultilevel, false, kCollecting, scatter_multilevel_tree},
    {allgather, "flat_ring", kFlat, false, kAny, allgather_flat_ring},
    {allgather, "flat_dissemination", kFlat, false, kAny, allgather_flat_dissemination},
    {allgather, "multilevel_exchange", kMultilevel, false, kPassing, allgather_multilevel_exchange},
    {alltoall, "flat_pairwise", kFlat, false, kAny, alltoall_flat_pairwise},
    {alltoall, "multilevel_exchange", kMultilevel, false, kAny, alltoall_multilevel_exchange},
};

}  // namespace

std::span<const Algorithm> algorithms() {
  return kTable;
}

const Algorithm* find_algorithm(Operation operation, const std::string& name) {
  for (const Algorithm& algorithm : kTable)
    if (algorithm.operation == operation && algorithm.name == name) return &algorithm;
  return nullptr;
}

}  // namespace scope
