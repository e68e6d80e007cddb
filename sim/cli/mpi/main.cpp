#include <CLI/CLI.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/string.hpp>
#include <cstdlib>
#include <iostream>

#include "../sweep_commands.hpp"
#include "stepcast/base/version.hpp"
#include "stepcast/sim/engine/workers.hpp"

// A sweep over many machines: rank 0 owns the store and hands out points, the others simulate.
namespace stepcast::cli {
namespace {

namespace mpi = boost::mpi;

constexpr int to_simulate = 1, no_more = 2, simulated = 3;

/// One point in a process of its own, as a line; a point whose process dies is a failed one.
std::string simulated_line(const Sweep& sweep, std::size_t point, const SearchPath& search) {
  std::string line;
  const auto job = [&](std::size_t) { return to_line(simulate_point(sweep, point, search)); };
  run_in_workers(1, 1, job, [&](const WorkerAnswer& answer) {
    line = answer.failed() ? to_line(failed_point(sweep, point, answer.failure)) : answer.text;
  });
  return line;
}

/// Hands out what is missing, one point at a time to whoever is free.
void manage(const mpi::communicator& world, SweepRun& run,
            const std::function<void(const PointDone&)>& watch) {
  const std::vector<std::size_t>& missing = run.missing();
  std::size_t next = 0, done = 0;
  for (int worker = 1; worker < world.size() && next < missing.size(); ++worker)
    world.send(worker, to_simulate, missing[next++]);
  while (done < missing.size()) {
    std::string line;
    const mpi::status from = world.recv(mpi::any_source, simulated, line);
    const PointResult result = from_line(line);
    run.add(result);
    watch({result, ++done, missing.size()});
    if (next < missing.size()) world.send(from.source(), to_simulate, missing[next++]);
  }
}

void work(const mpi::communicator& world, const SweepOptions& options) {
  std::optional<Sweep> sweep;
  SearchPath search;
  while (true) {
    // The tag decides before the message is taken, since the two have different contents.
    const mpi::status order = world.probe(0, mpi::any_tag);
    if (order.tag() == no_more) {
      world.recv(0, no_more);
      return;
    }
    std::size_t point = 0;
    world.recv(0, to_simulate, point);
    // Read by the first point, so that a rank without work reads no files.
    if (!sweep) {
      search = default_search_path(options.presets);
      sweep = read_sweep(options.sweep, search, options.overrides);
    }
    world.send(0, simulated, simulated_line(*sweep, point, search));
  }
}

int reported(const Outcome& outcome) {
  std::cout << outcome.text << std::flush;
  if (std::cout) return outcome.exit_code;
  std::cerr << "stdout: cannot be written\n";
  return bad_input;
}

int lead(const mpi::communicator& world, const SweepOptions& options) {
  const auto all = [&](SweepRun& run, const Sweep& sweep, const SearchPath& search,
                       const std::function<void(const PointDone&)>& watch) {
    // One rank alone computes itself instead of waiting for others.
    if (world.size() == 1) return run_missing(run, sweep, 1, search, watch);
    manage(world, run, watch);
  };
  int code = internal_error;
  try {
    code = reported(sweep(options, all));
  } catch (const InputError& error) {
    std::cerr << error.what() << "\n";
    code = bad_input;
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
  }
  return code;
}

int run_ranks(int argc, char** argv) {
  SweepOptions options;
  CLI::App app{"stepcast-mpi predicts every point of a sweep file on the ranks of an MPI job."};
  app.set_version_flag("--version", std::string("stepcast-mpi ") + version);
  add_sweep_options(&app, options);
  app.footer("Example: mpirun -n 64 stepcast-mpi sweep.yaml --store results.sqlite");
  mpi::environment environment(argc, argv, mpi::threading::single, true);
  const mpi::communicator world;
  try {
    app.parse(argc, argv);
    // All ranks parse the same line, and one of them is enough to say what is wrong with it.
  } catch (const CLI::ParseError& error) {
    if (world.rank() != 0) return done;
    return app.exit(error) == 0 ? done : bad_input;
  }
  if (world.rank() == 0) {
    const int code = lead(world, options);
    for (int worker = 1; worker < world.size(); ++worker) world.send(worker, no_more);
    return code;
  }
  work(world, options);
  return done;
}

}  // namespace
}  // namespace stepcast::cli

int main(int argc, char** argv) {
  // Points run in forked processes, which do not use MPI.
  setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
  try {
    return stepcast::cli::run_ranks(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return stepcast::cli::internal_error;
  }
}
