// SGLang's planner behind a C interface. Outputs have room for `tokens` entries; what is returned counts those made.
#include <c_plan.cuh>

using View = tvm::ffi::TensorView;

namespace {
View of(const void* data, std::vector<int64_t> shape) { return View{const_cast<void*>(data), std::move(shape)}; }
}  // namespace

extern "C" void plan_prefill(
    const int64_t* rows, int64_t n, const int32_t* table, int64_t height, int64_t width, const int64_t* mapping,
    int64_t slots, const int64_t* lengths, const int64_t* extends, int64_t tokens, int ratio, int window_page, int ring,
    bool by_row, bool for_graph, uint8_t* compress, uint8_t* write, int64_t* counts) {
  std::vector<uint8_t> scratch(tokens * 24);
  auto [c, w] = sglang::plan_compress_prefill(
      of(rows, {n}), of(table, {height, width}), of(mapping, {slots}), of(lengths, {n}), of(extends, {n}),
      of(scratch.data(), {tokens * 24}), tokens, ratio, window_page, ring, by_row, for_graph);
  std::memcpy(compress, c.data, c.numel());
  std::memcpy(write, w.data, w.numel());
  counts[0] = c.shape[0], counts[1] = w.shape[0];
}

extern "C" void plan_decode(
    const int64_t* rows, int64_t n, const int32_t* table, int64_t height, int64_t width, const int64_t* mapping,
    int64_t slots, const int64_t* lengths, int ratio, int window_page, int ring, bool by_row, uint8_t* decode) {
  auto d = sglang::plan_compress_decode(
      of(rows, {n}), of(table, {height, width}), of(mapping, {slots}), of(lengths, {n}), ratio, window_page, ring, by_row);
  std::memcpy(decode, d.data, d.numel());
}
