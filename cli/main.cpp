#include "program.h"

int main(int argc, char** argv) {
  using namespace unstarve::cli;
  return run_program(argc, argv, Start::kApplyHostSettings);
}
