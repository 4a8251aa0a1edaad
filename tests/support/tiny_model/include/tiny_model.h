/* tiny.h by a name that no C library has, as the libraries that tflmgen writes have one. */
#include "tiny.h"
