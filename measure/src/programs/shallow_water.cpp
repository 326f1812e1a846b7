// shallow_water: the application of application.shallow_water as a separate program for profiles and campaigns.
// It sends only the messages of the model.
#include <cstdio>
#include <stdexcept>

#include "benchmarks/application/shallow_water/model.hpp"

using namespace scope::shallow_water;

namespace {

constexpr const char* usage =
    "usage: shallow_water [--resolution T42] [--levels 1] [--steps 12] [--case "
    "zonal|bell|compact|low|mountain|wave]\n"
    "                     [--grid-rows 0] [--fft transposition|distributed] [--legendre "
    "transposition|allreduce|ring]\n"
    "                     [--exchange blocking|nonblocking|shared_memory]\n";

// Throws std::out_of_range for an unknown option or word, std::invalid_argument for an invalid number.
class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      if (i + 1 == argc) throw std::out_of_range(argv[i]);
      values_.at(argv[i]) = argv[i + 1];
    }
  }

  const std::string& text(const char* name) const { return values_.at(name); }
  int number(const char* name, int least) const {
    const int value = std::stoi(text(name));
    if (value < least) throw std::out_of_range(text(name));
    return value;
  }
  // The index of a word among the allowed words.
  int word(const char* name, std::initializer_list<const char*> allowed) const {
    int place = 0;
    for (const char* word : allowed) {
      if (text(name) == word) return place;
      ++place;
    }
    throw std::out_of_range(text(name));
  }

 private:
  std::map<std::string, std::string> values_{{"--resolution", "T42"},    {"--levels", "1"},
                                             {"--steps", "12"},          {"--case", "zonal"},
                                             {"--grid-rows", "0"},       {"--fft", "transposition"},
                                             {"--exchange", "blocking"}, {"--legendre", "transposition"}};
};

// Runs the model that the options describe; returns the exit code.
int run(const Options& options, const scope::Communicator& world) {
  const Methods methods{
      static_cast<FourierMethod>(options.word("--fft", {"transposition", "distributed"})),
      static_cast<LegendreMethod>(options.word("--legendre", {"transposition", "allreduce", "ring"}))};
  const Resolution& resolution = resolution_named(options.text("--resolution"));
  if (resolution.name != options.text("--resolution")) throw std::out_of_range(options.text("--resolution"));
  const auto test_case = TestCase::named(options.text("--case"));
  const Decomposition decomposition(resolution, world, options.number("--grid-rows", 0), methods);
  Exchange exchange(
      static_cast<Exchange::Way>(options.word("--exchange", {"blocking", "nonblocking", "shared_memory"})));
  Model model(decomposition, *test_case, options.number("--levels", 1), scope::npb::widest_vectors(), exchange);
  model.start();
  const int steps = options.number("--steps", 1);
  for (int step = 0; step < steps; ++step) model.step();
  const Diagnosis found = model.diagnose();
  if (world.root()) {
    std::printf("%.3f days: errors of the geopotential %.3e and of the winds %.3e, mass %.15e, energy %.15e\n",
                model.time_s() / day_s, found.height_error, found.wind_error, found.mass, found.energy);
  }
  return found.energy > 0 ? 0 : 1;  // also false for NaN
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 2;
  try {
    const scope::Communicator world = scope::Communicator::duplicate(MPI_COMM_WORLD);
    try {
      code = run(Options(argc, argv), world);
    } catch (const scope::Unavailable& refusal) {
      if (world.root()) std::fprintf(stderr, "shallow_water: %s\n", refusal.what());
    } catch (const std::logic_error& wrong) {
      if (world.root()) std::fprintf(stderr, "shallow_water: %s: not understood\n%s", wrong.what(), usage);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shallow_water: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
