"""The chapter's questions, read a second time from their prompts alone."""

QUARTER_OF_TWO, SCALED = 0.5, 4.5 / 8
BLOCKS, TABLES = 8.03e9 - 2 * 128_256 * 4096, 4 * 128_256 * 4096
STORED = BLOCKS * SCALED + TABLES
# What a wrong computation gives, over the right answer, by words of its hint.
SLIPS = {
    "quantization.bits": {
        "The scales are stored": 4 / 4.25,
        "shared by the whole group": 20 / 4.25,
    },
    "quantization.worst": {"a whole step": 2, "Four bits have": 7 / 16},
    "quantization.stored": {"half a byte for each": 8.03e9 * QUARTER_OF_TWO / STORED},
}
# Which mistake leads to a wrong option, in words of its hint.
MISTAKES = {
    "quantization.predict-group": {
        "about 10 %": "without the large columns",
        "about 40 %": "in every row",
    },
    "quantization.predict-one": {
        "about 4 times": "not all of it",
        "about 3 times": "fixed time of a step",
        "not at all": "most of a step is reading weights",
    },
    "quantization.predict-prompt": {
        "about 4 times": "does not wait for them",
        "about 3 times": "once for all rows",
        "about 2 times": "a decode of one request",
    },
}
RIGHT = {
    "quantization.predict-group": "about 90 %",
    "quantization.predict-one": "about 2 times",
    "quantization.predict-prompt": "not at all",
}
# Words of the prompt that decide what is right, in their order.
ASKED = {
    "quantization.predict-group": [
        "512 columns", "four of the columns", "20 times", "INT4",
        "with one scale for each row", "error of the numbers in the other 508 columns",
    ],
    "quantization.predict-one": [
        "Llama-3.1-8B", "decodes one request", "1,100 tokens", "one H100",
        "INT4", "LM head", "stay as they are", "costs nothing",
        "How much faster is a step by the formula that follows",
    ],
    "quantization.predict-prompt": [
        "prompt of 8,192 tokens", "in INT4", "products in 16 bits",
        "How much faster than with 16-bit",
    ],
    "quantization.bits": [
        "codes of 4 bits", "scale of 16 bits", "group of 64", "How many bits",
        "scale included",
    ],
    "quantization.worst": [
        "largest weight",
        "0.63",
        "INT4",
        "from −7 to 7",
        "off at most",
    ],
    "quantization.stored": [
        "8.03 billion", "LM head with 0.525 billion", "keep 16 bits", "NVFP4",
        "codes of 4 bits", "groups of 16", "a scale of 8 bits", "How many bytes",
    ],
}  # fmt: skip
