#include "program.h"

int main(int argc, char** argv) { return unstarve::cli::run_program(argc, argv); }
