"""Coefficients: plain numbers in other books, numbers with a unit in this one."""

from llmserve_lab.formula.quantity import Coefficient

flops_per_param = Coefficient(
    "2",
    "FLOP/(parameter*token)",
    "one multiplication and one addition per parameter and token",
    value=2.0,
)
flops_per_product = Coefficient(
    "2",
    "FLOP/(pair*head*element)",
    "one multiplication and one addition per pair, head and element",
    value=2.0,
)
keys_and_values = Coefficient("2", "1/(token*head)", "one key and one value", value=2.0)
one_latent = Coefficient(
    "1", "1/(token*layer)", "one latent that all heads share", value=1.0
)
pairs_per_row = Coefficient(
    "1",
    "pair*request/token**2",
    "one query–key pair per new row and token that it sees",
    value=1.0,
)
one_request = Coefficient("1", "request", "one request alone", value=1.0)
own_row = Coefficient("1", "token/request", "a row sees itself", value=1.0)
one_query = Coefficient("1", "layer/head", "one query for each head", value=1.0)
one_score = Coefficient(
    "1", "element*layer/(head*token)", "one score per head and pair of rows", value=1.0
)
one_head = Coefficient("1", "head/layer", "a rank keeps at least one head", value=1.0)
all_reduces_per_layer = Coefficient(
    "2", "1/layer", "two all-reduces per layer", value=2.0
)
token_a_step = Coefficient(
    "1", "token/request", "one token per request and step", value=1.0
)
gated_flops = Coefficient(
    "6",
    "FLOP/(element**2*token)",
    "three matrices, a multiplication and an addition each",
    value=6.0,
)
head_matrices = Coefficient(
    "2",
    "parameter/(element**2*head)",
    "two matrices per head: query and output, or key and value",
    value=2.0,
)
one_layer = Coefficient("1", "layer", "one layer alone", value=1.0)
one_way_row = Coefficient("1", "1/token", "one row each way", value=1.0)
draw_per_row = Coefficient("1", "1/token", "every row chooses for itself", value=1.0)
router_entry = Coefficient(
    "1",
    "parameter/(element*layer)",
    "a router keeps one number per feature and expert",
    value=1.0,
)
matrix_entry = Coefficient(
    "1", "parameter/element**2", "one number per row and column", value=1.0
)
one_draft = Coefficient(
    "1", "request/token", "each token drafted is one draft", value=1.0
)
one_token = Coefficient("1", "token", "a block that is taken holds a token", value=1.0)
four_rows = Coefficient(
    "4", "request/token", "query, key and value read, output written", value=4.0
)
two_rows = Coefficient("2", "request/token", "query read, output written", value=2.0)
key_and_value = Coefficient("2", "request/token", "a key and its value", value=2.0)
four_scores = Coefficient(
    "4",
    "element*request**2/token**2",
    "a score written and read, its weight written and read",
    value=4.0,
)
score_per_pair = Coefficient(
    "1",
    "element*layer*request**2/(head*token**2)",
    "one score per head and pair",
    value=1.0,
)
flops_per_score = Coefficient(
    "4",
    "FLOP*request**2/(element*token**2)",
    "per pair and element a multiplication and an addition, for scores and for values",
    value=4.0,
)
state_rows = Coefficient(
    "1", "request/token", "once for each visit of a row", value=1.0
)
two_sums = Coefficient("2", "element", "a maximum and a sum", value=2.0)
score_of_tile = Coefficient(
    "1", "element*request/token", "one score for each key of the tile", value=1.0
)
block_per_head = Coefficient(
    "1", "layer/(request*head)", "a block for each request and head", value=1.0
)
there_and_back = Coefficient(
    "2", "layer/(request*head)", "written by a split, read by the merge", value=2.0
)
log_sum = Coefficient("1", "element", "the log-sum-exp", value=1.0)
one_row = Coefficient("1", "token", "a row counts itself", value=1.0)
query_and_output = Coefficient(
    "1", "1/head", "a query goes out for each head, its output comes back", value=1.0
)
whole_block = Coefficient(
    "2", "token**2/pair", "half of a block's pairs are masked away", value=2.0
)
one_sum = Coefficient(
    "1", "element", "one log-sum-exp beside each head's output", value=1.0
)
byte_a_bit = Coefficient("0.125", "byte/parameter", "a byte has 8 bits", value=0.125)
an_hour = Coefficient("3600", "s/hour", "seconds of an hour", value=3600.0)
million_tokens = Coefficient("10^6", "token/Mtoken", "tokens of a million", value=1e6)
million_requests = Coefficient(
    "10^6", "request/Mrequest", "requests of a million", value=1e6
)
