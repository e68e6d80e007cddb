#pragma once
#include "commands.hpp"

/// Forecasts against published results, and numbers fitted to measurements.
namespace stepcast::cli {

struct AccuracyOptions : PresetOptions {
  std::string folder;
  bool components = false;  ///< measured kernels and collectives instead of steps
  bool by_script = false;   ///< rows without the listed differences from their scripts
  bool plain = false;       ///< rows as questions, without the switches of their frameworks
  bool left_out = false;    ///< with components: fitted again without parts of their tables
  std::string json;         ///< as for run
  std::string write;        ///< page to bring up to date, with a plot beside it
  std::string check;        ///< page whose overall figure must hold
  std::string intervals;    ///< folder of the intervals of hardware types
  int workers = 0;          ///< 0: all processors
};
Outcome accuracy(const AccuracyOptions& options);

struct CalibrateOptions : PresetOptions {
  std::vector<std::string> profiles;  ///< folders of profiles, with `cluster`
  std::string start;                  ///< cluster whose numbers the fit to step times starts at
  std::string cluster;               ///< where the fit starts; with `results` what `output` extends
  std::string results;               ///< --from-results, with `devices`
  std::vector<std::string> devices;  ///< --device
  int numbers = 4;                   ///< that are fitted to step times, at most
  std::string output;
  int workers = 0;
};
Outcome calibrate(const CalibrateOptions& options);

}  // namespace stepcast::cli
