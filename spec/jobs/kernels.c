/* SPDX-License-Identifier: MIT */
/*
** kernels.c - kernels for kernel_spec.lua, which makes a shared library of them.
*/
#include "weft.h"

__attribute__((visibility("default"))) void scale(size_t first, size_t last,
                                                  const weft_value *args, size_t nargs);
__attribute__((visibility("default"))) void tell(size_t first, size_t last,
                                                 const weft_value *args, size_t nargs);

static double number(const weft_value *value)
{
  return value->kind == WEFT_VALUE_INTEGER ? (double)value->as.integer : value->as.number;
}

/* f32 buffer, factor */
void scale(size_t first, size_t last, const weft_value *args, size_t nargs)
{
  float *data = args[0].as.data;
  double factor = nargs > 1 ? number(&args[1]) : 1;
  for (size_t i = first; i < last; i++) data[i] = (float)(data[i] * factor);
}

/* An i32 buffer hears what the other arguments are: the kind, and a size or a value, of each. */
void tell(size_t first, size_t last, const weft_value *args, size_t nargs)
{
  int32_t *out = args[0].as.data;
  out[0] = (int32_t)first;
  out[1] = (int32_t)last;
  for (size_t i = 1; i < nargs; i++) {
    out[2 * i] = args[i].kind == WEFT_VALUE_INTEGER ? WEFT_VALUE_NUMBER : args[i].kind;
    switch (args[i].kind) {
    case WEFT_VALUE_INTEGER:
    case WEFT_VALUE_NUMBER:
      out[2 * i + 1] = (int32_t)number(&args[i]);
      break;
    case WEFT_VALUE_BOOLEAN:
      out[2 * i + 1] = (int32_t)args[i].as.integer;
      break;
    case WEFT_VALUE_STRING:
      out[2 * i + 1] = (int32_t)args[i].size * 1000 + args[i].as.string[0];
      break;
    case WEFT_VALUE_BUFFER:
      out[2 * i + 1] = (int32_t)args[i].size * 1000 + args[i].element;
      break;
    default:
      out[2 * i + 1] = -1;
    }
  }
}
