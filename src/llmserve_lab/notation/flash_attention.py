"""Attention in tiles: a running softmax, what passes the memory, splits of the keys.

Traffic is that of one query head in one layer with keys of its own.
"""

import math

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

max_before = Quantity(
    r"m_{\mathrm{old}}",
    "dimensionless",
    "largest score before a tile",
    minimum=-math.inf,
)
max_now = Quantity(
    r"m_{\mathrm{new}}",
    "dimensionless",
    "largest score after a tile",
    minimum=-math.inf,
)
sum_before = Quantity(
    r"Z_{\mathrm{old}}",
    "dimensionless",
    "sum of exp(score − old maximum) before a tile",
)
tile_sum = Quantity(
    r"Z_{\mathrm{tile}}",
    "dimensionless",
    "sum of exp(score − new maximum) over the scores of the tile",
)
running_sum = Positive(
    r"Z_{\mathrm{new}}",
    "dimensionless",
    "sum of exp(score − new maximum) after a tile",
)
out_1 = Quantity(
    "o_1", "dimensionless", "output of the first split alone", minimum=-math.inf
)
out_2 = Quantity(
    "o_2", "dimensionless", "output of the second split alone", minimum=-math.inf
)
lse_1 = Quantity(
    r"\mathrm{LSE}_1",
    "dimensionless",
    "log-sum-exp of the first split",
    minimum=-math.inf,
)
lse_2 = Quantity(
    r"\mathrm{LSE}_2",
    "dimensionless",
    "log-sum-exp of the second split",
    minimum=-math.inf,
)
merged_out = Quantity(
    "o_{12}", "dimensionless", "output of two splits, merged", minimum=-math.inf
)

tile_rows = Count("n_q", "token/request", "queries of a tile")
tile_keys = Count("n_k", "token/request", "keys of a tile")
tile_stages = Count(
    r"n_{\mathrm{st}}", "dimensionless", "key–value tiles on chip at a time"
)
bytes_number = Positive(
    r"\operatorname{num}_b",
    "byte/element",
    "bytes per number of a query, key, value, score or output",
)
bytes_sum = Positive(
    r"\operatorname{acc}_b", "byte/element", "bytes per number of a running sum"
)
square_bytes = Positive(
    r"M_{\mathrm{quad}}", "byte", "bytes of the scores of a layer, all pairs and heads"
)
row_tiles = Count(r"T_q", "dimensionless", "tiles of queries in a prompt")
keys_read = Positive(
    r"s_{\mathrm{read}}",
    "token/request",
    "keys read by all tiles of queries, one tile after another",
)
rows_visited = Positive(
    r"R_{\mathrm{read}}",
    "token/request",
    "queries read for all tiles of keys, one tile after another",
)
plain_bytes = Positive(
    r"Q_{\mathrm{plain}}", "byte", "bytes to and from memory of a head, plain attention"
)
tiled_bytes = Positive(
    r"Q_{\mathrm{tile}}", "byte", "bytes to and from memory of a head, in tiles"
)
outer_keys_bytes = Positive(
    r"Q_{\mathrm{tile}}^{\mathrm{kv}}",
    "byte",
    "the same in tiles with the loop over keys outside",
)
once_bytes = Positive(
    r"Q_{\mathrm{once}}", "byte", "the same if every number passes once"
)
head_flops = Positive(r"F_{\mathrm{head}}", "FLOP", "FLOPs of a head that count")
plain_intensity = Positive(
    r"I_{\mathrm{plain}}", "FLOP/byte", "intensity of plain attention"
)
tiled_intensity = Positive(
    r"I_{\mathrm{tile}}", "FLOP/byte", "intensity of attention in tiles"
)
once_intensity = Positive(
    r"I_{\mathrm{once}}", "FLOP/byte", "intensity if every number passes once"
)
plain_limit = Positive(
    r"I_{\mathrm{plain}}^{\infty}", "FLOP/byte", "plain intensity of an endless prompt"
)
tiled_limit = Positive(
    r"I_{\mathrm{tile}}^{\infty}", "FLOP/byte", "tiled intensity of an endless prompt"
)
shared_bytes = Positive(
    r"M_{\mathrm{sh}}", "byte", "shared memory that the tiles on chip take"
)
register_bytes = Positive(
    r"M_{\mathrm{reg}}",
    "byte",
    "registers that scores, weights and sums of a tile take",
)

shared_room = Positive(
    r"M_{\mathrm{sh}}^{\max}", "byte", "shared memory that a thread block may take"
)
register_room = Positive(
    r"M_{\mathrm{reg}}^{\max}", "byte", "registers of a multiprocessor"
)
chip_share = Positive(
    r"\varphi_{\mathrm{chip}}",
    "dimensionless",
    "room on chip that a tile takes, over what there is, where it is tighter",
)

n_sms = Count(r"N_{\mathrm{SM}}", "dimensionless", "multiprocessors of the GPU")
n_split = Count(r"n_{\mathrm{split}}", "dimensionless", "splits of the keys")
work_blocks = Positive(
    r"N_{\mathrm{work}}", "dimensionless", "thread blocks that attention is cut into"
)
busy_share = Share(
    r"\varphi_{\mathrm{SM}}", "dimensionless", "share of the multiprocessors at work"
)
waves = Positive(
    r"N_{\mathrm{wave}}", "dimensionless", "waves in which thread blocks run"
)
block_bw = Positive(
    r"W_{\mathrm{block}}",
    "byte/s",
    "keys and values that one thread block reads a second at most",
)
split_read_s = Positive(
    r"t_{\mathrm{split}}", "s", "time in which all splits read their keys and values"
)
merge_bytes = Positive(
    r"Q_{\mathrm{merge}}", "byte", "bytes that splits write and the merge reads"
)
merge_s = Quantity(r"t_{\mathrm{merge}}", "s", "time of the merge")
decode_attn_s = Positive(
    r"t_{\mathrm{att}}^{\mathrm{dec}}", "s", "time of attention of a layer, in decode"
)
least_read_s = Positive(
    r"t_{\mathrm{kv}}^{\min}",
    "s",
    "least time to read keys and values of a layer, at the bandwidth reached",
)
