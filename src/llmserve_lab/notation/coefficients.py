"""Coefficients: plain numbers in other books, numbers with a unit in this one."""

from llmserve_lab.formula.quantity import Coefficient

flops_per_param = Coefficient(
    "flops_per_param",
    "2",
    "FLOP/(parameter*token)",
    "one multiplication and one addition per parameter and token",
    value=2.0,
)
flops_per_product = Coefficient(
    "flops_per_product",
    "2",
    "FLOP/(pair*head*element)",
    "one multiplication and one addition per pair, head and element",
    value=2.0,
)
keys_and_values = Coefficient(
    "keys_and_values", "2", "1/(token*head)", "one key and one value", value=2.0
)
one_latent = Coefficient(
    "one_latent", "1", "1/(token*layer)", "one latent that all heads share", value=1.0
)
pairs_per_row = Coefficient(
    "pairs_per_row",
    "1",
    "pair*request/token**2",
    "one query–key pair per new row and token that it sees",
    value=1.0,
)
one_request = Coefficient("one_request", "1", "request", "one request alone", value=1.0)
own_row = Coefficient("own_row", "1", "token/request", "a row sees itself", value=1.0)
one_query = Coefficient(
    "one_query", "1", "layer/head", "one query for each head", value=1.0
)
one_score = Coefficient(
    "one_score",
    "1",
    "element*layer/(head*token)",
    "one score per head and pair of rows",
    value=1.0,
)
one_head = Coefficient(
    "one_head", "1", "head/layer", "a rank keeps at least one head", value=1.0
)
all_reduces_per_layer = Coefficient(
    "all_reduces_per_layer", "2", "1/layer", "two all-reduces per block", value=2.0
)
token_a_step = Coefficient(
    "token_a_step", "1", "token/request", "one token per request and step", value=1.0
)
gated_flops = Coefficient(
    "gated_flops",
    "6",
    "FLOP/(element**2*token)",
    "three matrices, a multiplication and an addition each",
    value=6.0,
)
one_layer = Coefficient("one_layer", "1", "layer", "one layer alone", value=1.0)
one_way_row = Coefficient("one_way_row", "1", "1/token", "one row each way", value=1.0)
draw_per_row = Coefficient(
    "draw_per_row", "1", "1/token", "every row chooses for itself", value=1.0
)
router_entry = Coefficient(
    "router_entry",
    "1",
    "parameter/(element*layer)",
    "a router keeps one number per feature and expert",
    value=1.0,
)
matrix_entry = Coefficient(
    "matrix_entry",
    "1",
    "parameter/element**2",
    "one number per row and column",
    value=1.0,
)
