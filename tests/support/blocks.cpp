#include "tests/support/blocks.h"

#include <map>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace lathe::testing {

using models::Tensors;
using Inputs = std::span<const at::Tensor>;

namespace {

struct Squared : torch::autograd::Function<Squared> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0] * 2};
  }
};

// Passes its input on, and the gradient with the other sign: an output that lies in an input's memory and is no view.
struct Reversed : torch::autograd::Function<Reversed> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.view_as(x); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {-gradients[0]};
  }
};

at::Tensor layer(const at::Tensor& x, const at::Tensor& weight, double dropout) {
  return at::dropout(at::tanh(at::mm(x, weight)), dropout, true);
}

struct Checkpointed : torch::autograd::Function<Checkpointed> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double dropout) {
    context->save_for_backward({x, weight});
    context->saved_data["dropout"] = dropout;
    context->saved_data["random"] = at::globalContext().defaultGenerator(at::kCPU).get_state();
    const at::NoGradGuard no_gradient;
    return layer(x, weight, dropout);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor x = saved[0].detach().requires_grad_(true), weight = saved[1].detach().requires_grad_(true);
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const at::Tensor now = generator.get_state();
    generator.set_state(context->saved_data["random"].toTensor());
    at::Tensor y;
    {
      const at::AutoGradMode on(true);
      y = layer(x, weight, context->saved_data["dropout"].toDouble());
    }
    generator.set_state(now);
    const auto result = torch::autograd::grad({y}, {x, weight}, {gradients[0]});
    return {result[0], result[1], at::Tensor()};
  }
};

at::Tensor integers(std::vector<std::int64_t> values) {
  return at::tensor(values);
}

at::Tensor needs_gradient(const at::Tensor& tensor) {
  return tensor.requires_grad_(true);
}

// x [4, 6] with a gradient, z [4, 6] without; w [6, 6] trained, f [6, 6] frozen.
struct Small {
  at::Tensor x = needs_gradient(at::randn({4, 6})), z = at::randn({4, 6});
  at::Tensor w = needs_gradient(at::randn({6, 6})), f = at::randn({6, 6});

  BlockCase with(const std::string& name, BlockForward forward) const {
    return {std::make_unique<FunctionBlock>(name, Tensors{w, f}, std::move(forward)), {x, z}};
  }
};

using Make = std::function<BlockCase(const std::string& name)>;

BlockForward in_place_on_views() {
  return [](Inputs in, const Tensors& p) {
    at::Tensor y = at::mm(in[0], p[0]);
    y.add_(1);
    y.select(0, 0).mul_(2);
    y.view({-1}).slice(0, 0, 10).zero_();
    y.masked_fill_(y > 1, 0.5);
    y.t().index_put_({at::arange(2)}, at::ones({2, 4}));
    y.slice(1, 1, 3).copy_(in[0].slice(1, 0, 2));
    y.unsqueeze(0).squeeze(0).permute({1, 0}).slice(0, 2, 6, 2).sub_(0.25);
    y.split(2, 1)[1].mul_(3);
    y.unbind(1)[5].exp_();
    y.slice(1, 0, 4).diagonal().add_(7);
    return Tensors{y * 2, y.t() + 1};
  };
}

BlockForward write_under_views() {
  return [](Inputs in, const Tensors& p) {
    at::Tensor y = in[0] * 1, seen = y.t(), flat = y.view({24});
    y.mul_(3);
    seen.add_(1);
    const at::Tensor doubled = flat * 2;
    flat.fill_(2);
    return Tensors{doubled, at::mm(y, p[0]), seen * 1};
  };
}

BlockForward in_place_kinds() {
  return [](Inputs in, const Tensors& p) {
    at::Tensor y = at::mm(in[0], p[0]);
    y.addcmul_(in[1], in[0], 0.5);
    y.index_add_(0, integers({1, 0, 1}), in[1].slice(0, 0, 3));
    y.scatter_add_(1, at::zeros({4, 2}, at::kLong), in[0].slice(1, 0, 2));
    y.clamp_(-2.0, 2.0);
    y.lerp_(in[1], 0.25);
    at::Tensor counts = at::zeros({4, 6}, at::kLong);
    counts.add_(in[1].gt(0));
    at::Tensor half = at::zeros({4, 6}, at::kBFloat16);
    half.add_(in[0]);  // computed in fp32, rounded to bf16
    at::Tensor flags = at::ones({4, 6});
    flags.logical_and_(in[1] > 0);
    at::Tensor into = at::empty({4, 6});
    at::add_out(into, in[1], flags);
    at::Tensor chosen = at::zeros({4, 6});
    chosen.scatter_reduce_(0, integers({0, 1, 2, 3, 0, 1}).unsqueeze(0), in[1], "amax");
    return Tensors{y, half.to(at::kFloat) + counts, into * y + chosen};
  };
}

BlockForward shape_in_place() {
  return [](Inputs in, const Tensors& p) {
    at::Tensor y = at::mm(in[0], p[0]);
    y.t_();
    y.unsqueeze_(0);
    y.mul_(2);
    y.squeeze_(0);
    return Tensors{at::mm(y, in[1])};
  };
}

BlockForward lists() {
  return [](Inputs in, const Tensors& p) {
    const at::Tensor joined = at::cat({in[0], in[1], at::mm(in[0], p[0])}, 1);
    const auto rows = joined.unbind(0);
    const at::Tensor stacked = at::stack({rows[3], rows[0]});
    const auto parts = at::_foreach_mul(joined.split(6, 1), 2.0);
    std::vector<at::Tensor> sums = {at::zeros({4, 6}), at::ones({4, 6})};
    at::_foreach_add_(sums, {in[1], in[1]});
    return Tensors{stacked, parts[2] + sums[0] * sums[1], at::block_diag({in[0], p[1]})};
  };
}

BlockForward factories() {
  return [](Inputs in, const Tensors& p) {
    const std::int64_t n = in[0].size(0);
    const at::Tensor places = at::arange(n).to(at::kFloat).unsqueeze(1);
    const at::Tensor mask = at::ones({n, n}).tril();
    const at::Tensor y = at::mm(mask, at::mm(in[0], p[0])) + places * at::full({1, 6}, 0.125);
    const at::Tensor chosen = at::where(y > 0, y, at::scalar_tensor(0.5)) + at::where(y > 1, y, 2.0);
    return Tensors{chosen / std::sqrt(static_cast<double>(n)), at::eye(3) * 2, 1 - in[1].clamp(-1, 1).pow(2)};
  };
}

BlockCase batch_norm_case(const std::string& name) {
  Small small;
  const Tensors parameters = {
      small.w,       needs_gradient(at::rand({6})), needs_gradient(at::randn({6})), at::zeros({6}),
      at::ones({6}), at::zeros({}, at::kLong)};
  return {std::make_unique<FunctionBlock>(
              name, parameters,
              [](Inputs in, const Tensors& p) {
                at::Tensor y = at::mm(in[0], p[0]);
                for (int i = 0; i < 2; ++i) {  // the second pass reads what the first one wrote
                  at::Tensor count = p[5];
                  {
                    const at::NoGradGuard no_gradient;
                    count.add_(1);
                  }
                  y = at::elu(at::batch_norm(y, p[1], p[2], p[3], p[4], true, 0.1, 1e-3, false));
                }
                return Tensors{y + p[3]};
              }),
          {small.x}};
}

BlockCase tied_case(const std::string& name) {
  Small small;
  return {std::make_unique<FunctionBlock>(
              name, Tensors{small.w, small.f, small.w},
              [](Inputs in, const Tensors& p) { return Tensors{at::mm(at::tanh(at::mm(in[0], p[0])), p[2])}; }),
          {small.x}};
}

BlockCase mlp_case(const std::string& name) {
  const Tensors parameters = {needs_gradient(at::randn({16, 8}) / 3), needs_gradient(at::randn({16})),
                              needs_gradient(at::randn({8, 16}) / 4), at::randn({8})};
  return {std::make_unique<FunctionBlock>(name, parameters,
                                          [](Inputs in, const Tensors& p) {
                                            const at::Tensor y = at::layer_norm(in[0], {8});
                                            return Tensors{at::linear(at::gelu(at::linear(y, p[0], p[1])), p[2], p[3]) +
                                                           in[0]};
                                          }),
          {needs_gradient(at::randn({5, 3, 8}))}};
}

BlockCase attention_case(const std::string& name) {
  Small small;
  const at::Tensor mask = at::rand({2, 1, 3, 3}) > 0.3;
  return {std::make_unique<FunctionBlock>(
              name, Tensors{small.w},
              [](Inputs in, const Tensors& p) {
                const auto heads = [&](const at::Tensor& t) { return t.view({2, 3, 2, 3}).transpose(1, 2); };
                const at::Tensor x = at::linear(in[0], p[0]), allowed = in[1] | at::eye(3, at::kBool);
                const at::Tensor y =
                    at::scaled_dot_product_attention(heads(x), heads(in[0]), heads(x * 2), allowed, 0.0, false);
                return Tensors{y.transpose(1, 2).reshape({2, 3, 6})};
              }),
          {needs_gradient(at::randn({2, 3, 6})), mask}};
}

BlockCase lookup_case(const std::string& name) {
  const Tensors parameters = {needs_gradient(at::randn({11, 4}))};
  return {std::make_unique<FunctionBlock>(name, parameters,
                                          [](Inputs in, const Tensors& p) {
                                            const at::Tensor rows = at::embedding(p[0], in[0]);
                                            const at::Tensor some = rows.gather(2, in[1]);
                                            return Tensors{at::cumsum(rows, 1), some.index_select(1, integers({2, 0})),
                                                           at::zeros_like(rows).scatter(2, in[1], some),
                                                           rows.index({in[0].remainder(2)})};
                                          }),
          {at::randint(0, 11, {2, 3}, at::kLong), at::randint(0, 4, {2, 3, 2}, at::kLong)}};
}

const std::map<std::string, Make>& cases() {
  const auto small = [](BlockForward forward) {
    return [forward = std::move(forward)](const std::string& name) { return Small().with(name, forward); };
  };
  static const std::map<std::string, Make> all = {
      {"mlp", mlp_case},
      {"in place on views", small(in_place_on_views())},
      {"writes under live views", small(write_under_views())},
      {"kinds of in-place calls", small(in_place_kinds())},
      {"shape changed in place", small(shape_in_place())},
      {"lists of tensors", small(lists())},
      {"factories", small(factories())},
      {"batch norm", batch_norm_case},
      {"tied weight", tied_case},
      {"attention with a mask", attention_case},
      {"lookups", lookup_case},
      {"views escape", small([](Inputs in, const Tensors& p) {
         const at::Tensor h = at::mm(in[0], p[0]) * 2;
         return Tensors{h.t(), h.select(0, 1), in[0].view({6, 4}), p[0].t(), in[1] + 1};
       })},
      {"parts of a split escape", small([](Inputs in, const Tensors& p) {
         const auto parts = at::mm(in[0], p[0]).chunk(3, 1);
         return Tensors{parts[0], parts[1], parts[2]};
       })},
      {"an output twice", small([](Inputs in, const Tensors& p) {
         const at::Tensor h = at::mm(in[0], p[0]);
         return Tensors{h, h, h.detach(), in[0]};
       })},
      {"saved outputs", small([](Inputs in, const Tensors& p) {
         const at::Tensor h = at::softmax(at::exp(at::mm(in[0], p[0])) * at::sigmoid(in[0]), -1);
         return Tensors{h, at::log_softmax(h, 0)};
       })},
      {"writes an input", small([](Inputs in, const Tensors& p) {
         at::Tensor given = in[1];
         const at::Tensor before = at::mm(given, p[0]);
         given.select(1, 2).add_(0.5);
         return Tensors{at::mm(in[0], p[0]) * given + before, given};
       })},
      {"dropout", small([](Inputs in, const Tensors& p) {
         return Tensors{at::dropout(at::mm(at::dropout(in[0], 0.3, true), p[0]), 0.5, true) + at::rand({4, 6})};
       })},
      {"unused parameter", small([](Inputs in, const Tensors& p) { return Tensors{in[0] * 2 + p[1].sum()}; })},
      {"gradient is the incoming one",
       small([](Inputs in, const Tensors& p) { return Tensors{in[0] + p[0].slice(0, 0, 4) + in[1]}; })},
      {"custom function", small([](Inputs in, const Tensors& p) {
         return Tensors{squared(at::mm(in[0], p[0])), Reversed::apply(in[0])};
       })},
      {"checkpoint inside", small([](Inputs in, const Tensors& p) {
         const at::Tensor h = checkpointed_layer(at::dropout(in[0], 0.2, true), p[0], 0.4);
         return Tensors{checkpointed_layer(h, p[0], 0.1) + at::rand({4, 6})};
       })},
      {"boolean read", small([](Inputs in, const Tensors& p) {
         const at::Tensor y = at::mm(in[0], p[0]);
         return Tensors{in[1].sum().gt(0).item<bool>() ? at::tanh(y) : y * 2};
       })},
      {"size of data", small([](Inputs in, const Tensors& p) {
         const at::Tensor y = at::mm(in[0], p[0]), chosen = in[1] > 0;
         at::Tensor z = at::zeros_like(y);
         z.index_put_({chosen}, y.index({chosen}).exp());
         return Tensors{z, y.index_select(0, at::nonzero(in[1].select(1, 0)).squeeze(1))};
       })},
      {"foreign tensor", small([table = at::linspace(0, 1, 6)](Inputs in, const Tensors& p) {
         return Tensors{at::mm(in[0], p[0]) * table * at::scalar_tensor(3.0)};
       })},
  };
  return all;
}

}  // namespace

at::Tensor checkpointed_layer(const at::Tensor& x, const at::Tensor& weight, double dropout) {
  return Checkpointed::apply(x, weight, dropout);
}

at::Tensor squared(const at::Tensor& x) {
  return Squared::apply(x);
}

std::vector<std::string> block_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : cases()) names.push_back(name);
  return names;
}

BlockCase make_block(const std::string& name) {
  const auto found = cases().find(name);
  if (found == cases().end()) throw std::invalid_argument("no block '" + name + "'");
  at::manual_seed(17);
  return found->second(name);
}

}  // namespace lathe::testing
