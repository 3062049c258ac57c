"""Coefficients: plain numbers in other books, numbers with a unit in this one."""

from llmserve_lab.book.quantity import Coefficient

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
