#include "core/compile/codegen/cpu_prelude.h"

namespace lathe::codegen {

std::string_view cpu_prelude() {
  return R"(typedef long long i64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
#if defined(_MSC_VER)
#define LATHE_EXPORT extern "C" __declspec(dllexport)
#define LATHE_RESTRICT __restrict
#include <math.h>
#include <string.h>
static inline float bits_to_float(u32 b) { float f; memcpy(&f, &b, 4); return f; }
static inline u32 float_to_bits(float f) { u32 b; memcpy(&b, &f, 4); return b; }
#define LATHE_M(name) name
#define LATHE_INDEPENDENT __pragma(loop(ivdep))
#define LATHE_SUMS(...)
#else
#define LATHE_EXPORT extern "C" __attribute__((visibility("default")))
#define LATHE_RESTRICT __restrict__
static inline float bits_to_float(u32 b) { float f; __builtin_memcpy(&f, &b, 4); return f; }
static inline u32 float_to_bits(float f) { u32 b; __builtin_memcpy(&b, &f, 4); return b; }
#define LATHE_M(name) __builtin_##name
#define LATHE_PRAGMA(text) _Pragma(#text)
#define LATHE_INDEPENDENT LATHE_PRAGMA(omp simd)
#define LATHE_SUMS(...) LATHE_PRAGMA(omp simd reduction(+ : __VA_ARGS__))
typedef _Float16 f16;
static inline float f16_load(f16 v) { return (float)v; }
static inline f16 f16_store(float v) { return (f16)v; }
static inline float f16_round(float v) { return (float)(f16)v; }
#endif
static inline float bf16_load(u16 v) { return bits_to_float((u32)v << 16); }
static inline u16 bf16_store(float v) {
  u32 b = float_to_bits(v);
  u32 rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return (u16)(v != v ? 0x7fc0u : rounded);
}
static inline float bf16_round(float v) { return bf16_load(bf16_store(v)); }

static inline float m_min(float a, float b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }
static inline float m_max(float a, float b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
static inline double m_min(double a, double b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }
static inline double m_max(double a, double b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
static inline i64 m_min(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 m_max(i64 a, i64 b) { return a > b ? a : b; }
static inline int m_min(int a, int b) { return a < b ? a : b; }
static inline int m_max(int a, int b) { return a > b ? a : b; }
// (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
static inline float exp_tail(float r) {
  return 0.5f + r * (0.166665181517601f + r * (0.04166620597243309f + r * (0.008368887938559055f + r * 0.0013950488064438105f)));
}
static inline float m_exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  float n = LATHE_M(rintf)(x * 1.44269504088896341f);
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f + (r + r * r * exp_tail(r));
  int k = (int)n;
  int half = k >> 1;
  return p * bits_to_float((u32)(half + 127) << 23) * bits_to_float((u32)(k - half + 127) << 23);
}
static inline float m_expm1(float x) {
  float c = x < -30.0f ? -30.0f : x;
  c = c > 88.0f ? 88.0f : c;
  float n = LATHE_M(rintf)(c * 1.44269504088896341f);
  float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float t = r + r * r * exp_tail(r);
  float power = bits_to_float((u32)((int)n + 127) << 23);
  float y = power * t + (power - 1.0f);
  y = x > 88.0f ? m_exp(x) : y;
  return n == 0.0f ? LATHE_M(copysignf)(t, x) : y;
}
static inline float m_sigmoid(float x) { return 1.0f / (1.0f + m_exp(-x)); }
static inline float m_tanh(float x) {
  float a = LATHE_M(fabsf)(x);
  float t = a * a;
  float small = t * (-0.333333283662796f + t * (0.1333315223455429f + t * (-0.05393994227051735f + t * (0.021663403138518333f + t * (-0.008085626177489758f + t * 0.0020595805253833532f)))));
  float large = 1.0f - 2.0f / (m_exp(2.0f * a) + 1.0f);
  float y = a < 0.65f ? a + a * small : large;
  return LATHE_M(copysignf)(y, x);
}
static inline float m_erf(float x) {
  float a = LATHE_M(fabsf)(x);
  float c = a > 4.0f ? 4.0f : a;
  float t = c * c;
  float small = 0.12837916612625122f + t * (-0.37612637877464294f + t * (0.11283782124519348f + t * (-0.0268654003739357f + t * (0.005220945458859205f + t * (-0.0008482828852720559f + t * (0.00011256949073867872f + t * -9.641518772696145e-06f))))));
  float p = -8.398065256187692e-05f + c * (1.1289678812026978f + c * (0.6347847580909729f + c * (0.10612044483423233f + c * (-0.023078305646777153f + c * (0.0029132564086467028f + c * (7.05257843947038e-05f + c * (-0.00010618566011544317f + c * (1.8262657249579206e-05f + c * -1.1358100664438098e-06f))))))));
  float large = 1.0f - m_exp(-p);
  float y = c < 0.95f ? c + c * small : large;
  y = a != a ? a : y;
  return LATHE_M(copysignf)(y, x);
}
)";
}

}  // namespace lathe::codegen
