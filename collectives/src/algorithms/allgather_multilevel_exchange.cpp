// From the inside out, the leaders of neighboring parts exchange the blocks of their parts and forward received
// blocks into their own part as they arrive. A slow link carries every block once per part behind it.
#include "algorithms/passing.hpp"

namespace scope {
namespace {

struct Part {
  int leader;
  Range blocks;
};

// A branch of several parts: their positions, and the tree inside each.
struct Level {
  std::vector<Part> parts;
  std::vector<Tree> trees;
  std::vector<int> part_of;  // part of every rank; -1 if it is not in this branch
};

// Innermost levels first; `place` is the position of the branch in the order.
void collect_levels(const Problem& problem, const Branch& branch, std::int64_t place, std::vector<Level>& levels) {
  if (branch.parts.empty()) return;
  Level level{{}, {}, std::vector<int>(problem.ranks(), -1)};
  for (const Branch& part : branch.parts) {
    collect_levels(problem, part, place, levels);
    const auto ranks = static_cast<std::int64_t>(part.ranks.size());
    for (const int rank : part.ranks) level.part_of[rank] = static_cast<int>(level.parts.size());
    level.parts.push_back({part.ranks.front(), {place, ranks}});
    level.trees.push_back(multilevel_tree(problem, part));
    place += ranks;
  }
  levels.push_back(std::move(level));
}

const Registration allgather_multilevel_exchange{{
    .operation = Operation::allgather,
    .name = "multilevel_exchange",
    .shapes = passing_shapes,
    .make = [](const Problem& problem) -> Schedule {
      const auto levels = std::make_shared<std::vector<Level>>();
      collect_levels(problem, problem.network->tree(), 0, *levels);
      const auto program = [levels, units = problem.units](Program& steps, int rank) {
        for (const Level& level : *levels) {
          const int own = level.part_of[rank];
          if (own < 0) continue;
          const Tree& tree = level.trees[own];
          const int above = tree.parent[rank];
          std::vector<std::int64_t> coming;
          for (std::size_t i = 0; i < level.parts.size(); ++i)
            if (static_cast<int>(i) != own)
              coming.push_back(steps.start_receive(above >= 0 ? above : level.parts[i].leader, Space::work,
                                                   level.parts[i].blocks.begin * units,
                                                   level.parts[i].blocks.count * units));
          if (above < 0)
            for (std::size_t i = 0; i < level.parts.size(); ++i)
              if (static_cast<int>(i) != own)
                steps.start_send(level.parts[i].leader, Space::work, level.parts[own].blocks.begin * units,
                                 level.parts[own].blocks.count * units);
          std::size_t next = 0;
          for (std::size_t i = 0; i < level.parts.size(); ++i) {
            if (static_cast<int>(i) == own) continue;
            steps.wait(coming[next++]);
            for (const int child : tree.children[rank])
              steps.start_send(child, Space::work, level.parts[i].blocks.begin * units,
                               level.parts[i].blocks.count * units);
          }
          steps.wait_all();
        }
      };
      return {program, problem.network->tree().ranks};
    },
}};

}  // namespace
}  // namespace scope
