"""What others measured of batches without padding, and how long real prompts are.

Prompts of two services, as quantiles of a published trace; times of an encoder with and
without its padding; the tiles that a kernel works in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.catalog.records.shape import ModelShape

AZURE = "Azure LLM inference trace 2023 (CC BY 4.0), of the Splitwise paper, ISCA 2024"
_tokens = partial(Cited, kind="measured", source=AZURE)
AZURE_REQUESTS = {
    "conversation": _tokens(19_366, "request"),
    "code": _tokens(8_819, "request"),
}
AZURE_MEAN = {
    "conversation": _tokens(1154.7, "token/request", note="ContextTokens"),
    "code": _tokens(2047.8, "token/request", note="ContextTokens"),
}
AZURE_LONGEST = {
    "conversation": _tokens(14_050, "token/request", note="ContextTokens"),
    "code": _tokens(7_437, "token/request", note="ContextTokens"),
}
AZURE_ANSWER_MEAN = {
    "conversation": _tokens(211.1, "token/request", note="GeneratedTokens"),
    "code": _tokens(27.9, "token/request", note="GeneratedTokens"),
}
# Share of padding if requests are batched as they came, by the size of the batch.
AZURE_PADDING: dict[str, dict[int, Cited]] = {
    service: {
        size: Cited(share, "dimensionless", "measured", AZURE, "batches as they came")
        for size, share in zip((4, 8, 16, 32, 64, 128), shares, strict=True)
    }
    for service, shares in {
        "conversation": (0.488, 0.603, 0.669, 0.708, 0.732, 0.753),
        "code": (0.518, 0.621, 0.676, 0.703, 0.719, 0.724),
    }.items()
}
# ContextTokens at the shares 0.0025, 0.0075 … 0.9975 of all requests, by service.
# fmt: off
AZURE_PROMPTS: dict[str, tuple[int, ...]] = {
    "conversation": (
        10, 23, 42, 90, 120, 128, 167, 181, 181, 181, 181, 182, 194, 197, 200,
        200, 203, 203, 206, 206, 209, 210, 213, 218, 228, 237, 247, 309, 328,
        371, 373, 374, 375, 377, 379, 380, 382, 383, 385, 386, 388, 389, 390,
        391, 392, 393, 394, 395, 395, 396, 397, 397, 398, 399, 399, 400, 401,
        401, 402, 403, 404, 404, 405, 406, 407, 408, 409, 410, 411, 413, 415,
        418, 420, 422, 426, 431, 436, 448, 466, 642, 746, 835, 877, 895, 912,
        935, 955, 966, 976, 982, 986, 992, 996, 1000, 1004, 1007, 1010, 1013,
        1016, 1019, 1021, 1024, 1027, 1029, 1032, 1035, 1037, 1040, 1042, 1044,
        1047, 1049, 1052, 1054, 1056, 1059, 1062, 1064, 1066, 1069, 1072, 1074,
        1077, 1080, 1082, 1085, 1087, 1090, 1093, 1095, 1099, 1101, 1104, 1108,
        1111, 1114, 1117, 1120, 1124, 1128, 1132, 1136, 1140, 1146, 1150, 1156,
        1162, 1168, 1176, 1184, 1194, 1207, 1223, 1239, 1264, 1296, 1312, 1313,
        1314, 1315, 1316, 1318, 1335, 1353, 1405, 1474, 1549, 1644, 1734, 1835,
        1925, 2000, 2088, 2178, 2265, 2349, 2441, 2530, 2584, 2671, 2812, 3089,
        3536, 4072, 4074, 4076, 4077, 4079, 4080, 4082, 4083, 4085, 4087, 4089,
        4091, 4095, 4101, 4123, 4179, 5416,
    ),
    "code": (
        10, 15, 21, 30, 40, 47, 52, 59, 64, 72, 77, 84, 90, 94, 99, 105, 115,
        127, 135, 144, 151, 157, 169, 176, 181, 188, 195, 203, 216, 228, 238,
        248, 260, 272, 291, 311, 331, 348, 357, 376, 390, 405, 431, 456, 480,
        493, 511, 533, 548, 573, 586, 596, 616, 637, 669, 690, 708, 732, 751,
        763, 775, 803, 825, 842, 854, 873, 887, 903, 913, 928, 945, 962, 978,
        989, 1003, 1021, 1032, 1042, 1054, 1064, 1080, 1100, 1113, 1125, 1142,
        1162, 1179, 1196, 1213, 1247, 1267, 1290, 1306, 1338, 1355, 1373, 1385,
        1403, 1432, 1463, 1475, 1490, 1510, 1543, 1566, 1592, 1610, 1636, 1654,
        1679, 1695, 1712, 1734, 1761, 1782, 1805, 1838, 1862, 1880, 1900, 1913,
        1942, 1981, 2013, 2037, 2067, 2087, 2116, 2136, 2156, 2169, 2205, 2237,
        2271, 2297, 2316, 2345, 2375, 2408, 2428, 2439, 2468, 2492, 2531, 2561,
        2599, 2630, 2655, 2687, 2726, 2762, 2794, 2825, 2876, 2922, 2954, 2988,
        3045, 3104, 3160, 3217, 3265, 3330, 3396, 3488, 3562, 3614, 3660, 3758,
        3854, 3982, 4064, 4141, 4273, 4360, 4469, 4616, 4699, 4803, 5011, 5412,
        5538, 5735, 5903, 6051, 6166, 6278, 6499, 6673, 7105, 7394, 7427, 7434,
        7435, 7435, 7436, 7436, 7436, 7436, 7436,
    ),
}
# fmt: on
# GeneratedTokens of the same requests at the same shares.
# fmt: off
AZURE_ANSWERS: dict[str, tuple[int, ...]] = {
    "conversation": (
        12, 14, 18, 18, 27, 30, 34, 37, 39, 41, 42, 44, 45, 46, 48, 49, 50,
        51, 52, 53, 55, 56, 57, 59, 60, 61, 63, 64, 65, 66, 67, 68, 69, 71,
        72, 73, 74, 75, 76, 77, 78, 79, 80, 80, 81, 82, 83, 83, 84, 85, 85,
        86, 86, 87, 88, 88, 89, 89, 90, 90, 91, 91, 92, 92, 93, 94, 94, 95,
        95, 96, 96, 97, 98, 98, 99, 100, 100, 101, 102, 102, 103, 104, 105,
        106, 107, 108, 109, 110, 111, 112, 113, 115, 116, 118, 119, 121, 123,
        124, 126, 128, 130, 132, 134, 136, 138, 140, 142, 144, 147, 149, 152,
        154, 157, 160, 162, 162, 165, 167, 170, 174, 179, 181, 183, 187, 193,
        199, 205, 211, 217, 217, 217, 228, 254, 363, 373, 375, 375, 377, 379,
        383, 385, 386, 388, 388, 390, 392, 393, 394, 394, 395, 395, 396, 396,
        396, 396, 397, 397, 398, 398, 399, 401, 401, 402, 404, 405, 407, 408,
        409, 411, 411, 412, 413, 414, 414, 415, 417, 418, 419, 421, 423, 426,
        427, 428, 429, 429, 432, 436, 440, 444, 449, 456, 464, 478, 500, 517,
        532, 558, 589, 617, 720,
    ),
    "code": (
        6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9,
        9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10, 10, 10, 10, 10, 10,
        10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12,
        12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 13,
        13, 13, 13, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15,
        15, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 18, 18, 18, 18, 18, 19,
        19, 19, 19, 19, 20, 20, 20, 21, 21, 21, 22, 22, 22, 23, 23, 24, 24,
        25, 25, 26, 26, 27, 28, 28, 29, 30, 30, 31, 32, 33, 34, 34, 36, 37,
        38, 40, 41, 43, 44, 46, 47, 49, 51, 52, 55, 56, 58, 61, 64, 67, 70,
        73, 77, 82, 87, 94, 102, 109, 121, 132, 155, 184, 219, 287, 599,
    ),
}
# fmt: on

FASTER = "NVIDIA FasterTransformer (Apache-2.0), BERT guide, A100, FP16, TensorFlow"
BERT_BASE = ModelShape(
    name="BERT-base",
    key="bert-base",
    source="config.json of google-bert/bert-base-uncased",
    n_layers=12,
    d_model=768,
    vocab=30_522,
    attention=GroupedQueryAttention(n_heads=12, n_kv_heads=12, d_head=64),
    ffn=GeluFfn(d_ff=3_072),
    norm="layer",
    tied=True,
    max_context=512,
)


@dataclass(frozen=True, kw_only=True)
class Unpadded:
    """Time of a batch with its padding and without; half of every row is padding."""

    batch: int
    stretched: int
    padded_s: Cited
    packed_s: Cited


_s = partial(Cited, unit="s", kind="measured", source=FASTER)
UNPADDED: tuple[Unpadded, ...] = tuple(
    Unpadded(
        batch=batch,
        stretched=length,
        padded_s=_s(padded * 1e-3, note="FT"),
        packed_s=_s(packed * 1e-3, note="EFF-FT: padding removed"),
    )
    for batch, length, padded, packed in (
        (1, 32, 0.90, 0.96),
        (1, 128, 1.00, 1.02),
        (1, 384, 1.33, 1.20),
        (8, 32, 1.04, 1.04),
        (8, 128, 1.77, 1.43),
        (8, 384, 4.39, 2.57),
        (32, 32, 1.77, 1.40),
        (32, 128, 4.81, 2.75),
        (32, 384, 14.67, 7.71),
    )
)

PACKED_BERT = "Krell et al., Packed BERT, 2021, arXiv 2107.02027"
PACKED_BERT_PADDING = Cited(
    0.5, "dimensionless", "paper", PACKED_BERT, "Wikipedia, 512"
)
PACKED_BERT_SPEEDUP = Cited(2.0, "dimensionless", "measured", PACKED_BERT, "training")

TILE = Cited(
    128,
    "token",
    "counted",
    "FlashAttention, hopper/tile_size.h",
    "FlashAttention-3 forward, heads of 128, causal, 16 bits: 128 rows by 128 keys",
)
