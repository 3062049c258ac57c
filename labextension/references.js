/* Written by tools/lab_references.py from references.bib and the chapters. */
window.llmserveReferences = {
"chapters": {
"afd-": {
"letter": "A",
"keys": [
"song2026afd",
"zhu2025megascale",
"stepfun2025step3",
"xiao2025xdeepserve"
]
},
"capacity-": {
"letter": "P",
"keys": [
"zhong2024distserve",
"datareceipts2026gpus",
"apievangelist2026runpod",
"kunishou2024costs",
"patel2024splitwise",
"kubernetes2026hpa",
"nvidia2026snapshot",
"kabakibo2026ice",
"mlcommons2025results",
"mlcommons2025small",
"aiconfigurator2026",
"kserve2026autoscaling",
"llmd2026slo"
]
},
"chunked-": {
"letter": "C",
"keys": [
"yu2022orca",
"aiconfigurator2026",
"zhong2024distserve",
"vllm0330",
"guidellm081",
"agrawal2023sarathi",
"holmes2024fastgen",
"agrawal2024sarathi",
"kwon2023vllm",
"daniel2023continuous"
]
},
"deepseek-": {
"letter": "W",
"keys": [
"sglang2025h100",
"deepep2025",
"lee2025overlap",
"deepseek2024v3",
"inferencex2026",
"mazurek2025deepseek",
"deepgemm2025",
"flashmla2025",
"deepseek2025day6",
"gray2019graphs",
"shah2024flash3",
"sglang2025cutlass",
"deepseek2025profile",
"sglang2025gb200b",
"sglang2025gb200",
"eigen2025mtp"
]
},
"split-": {
"letter": "D",
"keys": [
"patel2024splitwise",
"zhong2024distserve",
"vllm0330",
"vllm50913",
"moriio2026",
"qin2025mooncake",
"kamath2025pod",
"article06",
"scaling_chapter"
]
},
"e2e-": {
"letter": "E",
"keys": [
"sennrich2016bpe",
"grattafiori2024llama3",
"zhang2019rmsnorm",
"vaswani2017attention",
"su2021roformer",
"ainslie2023gqa",
"shazeer2020glu",
"holtzman2020nucleus",
"raschka2025kvcache"
]
},
"flash-": {
"letter": "F",
"keys": [
"dao2022flash",
"milakov2018online",
"dao2023flash2",
"flashsource",
"dao2023decoding",
"vllm0330",
"shah2024flash3"
]
},
"error-": {
"letter": "H",
"keys": [
"aiconfigurator2026",
"inferencex2026",
"barber2021jackknife"
]
},
"kv-": {
"letter": "K",
"keys": [
"kwon2023vllm",
"patel2024splitwise",
"zheng2024sglang",
"llmd2026routing",
"productionstack2026routing",
"dynamo2026router",
"blis2026counts",
"llmservingsim2026meta",
"llmd2026memory"
]
},
"moe-": {
"letter": "M",
"keys": [
"inferencex2026",
"deepseek2025day6",
"sglang2025h100",
"deepep2025",
"deepep2026",
"vllm0330",
"deepseek2025eplb",
"graham1969bounds",
"fedus2021switch",
"lepikhin2020gshard",
"wang2024lossfree",
"article07",
"deepseek2024v3"
]
},
"axes-": {
"letter": "X",
"keys": [
"huang2019gpipe",
"liu2023ring",
"yang2024context",
"korthikanti2022",
"jacobs2023ulysses",
"vllm2026context",
"sglang2026prefill",
"nvidia2024pipeline",
"vllm2026balance"
]
},
"quantization-": {
"letter": "Q",
"keys": [
"xiao2022smoothquant",
"frantar2022gptq",
"lin2023awq",
"ashkboos2024quarot",
"lmquant",
"modelopt",
"kurtic2024bf16",
"liu2024kivi",
"xiao2023streaming",
"li2024snapkv",
"ainslie2023gqa",
"frantar2024marlin",
"scaling_chapter",
"vllmfp8",
"nvidia2025nvfp4",
"castro2025microscaling"
]
},
"roofline-": {
"letter": "R",
"keys": [
"williams2009roofline",
"agarwal2023inference",
"chowdhery2022palm",
"aiconfigurator2026",
"he2022brrrr",
"flashmla2025",
"ainslie2023gqa",
"deepseek2024v3",
"patel2024splitwise",
"spector2025bubbles",
"article06"
]
},
"sources-": {
"letter": "S",
"keys": [
"articles",
"scaling_chapter",
"mazurek2025deepseek",
"song2026afd",
"article05",
"article06",
"article07"
]
},
"spec-": {
"letter": "G",
"keys": [
"leviathan2023speculative",
"chen2023speculative",
"vllm2026lossless",
"li2025eagle3",
"liu2026illusion",
"inferencex2026drafts",
"vllm2025eagle",
"sglang2025speculative",
"deepseek2024v3"
]
},
"sym-": {
"letter": "Y",
"keys": [
"little1961proof",
"vllm54607",
"vllm16300",
"aiconfigurator2026",
"vllm2026optimization",
"inferencesim963",
"scaling_chapter",
"vllm54644"
]
},
"tp-": {
"letter": "T",
"keys": [
"shoeybi2019megatron",
"vllm0330",
"ainslie2023gqa",
"patarasuk2009ring",
"aiconfigurator2026",
"vllm42324",
"hockney1994communication",
"article02",
"article03"
]
},
"varlen-": {
"letter": "V",
"keys": [
"patel2024splitwise",
"dao2022flash",
"shah2024flash3",
"fastertransformer",
"krell2021packing",
"williams2009roofline",
"article04"
]
}
},
"text": {
"song2026afd": "Chendong Song, Meixuan Wang, Hang Zhou, Hong Liang, Yuan Lyu, Zixi Chen, Yuwei Fan, and Zijie Zhou\\. Theoretically optimal attention/FFN ratios in disaggregated LLM serving\\. 2026\\. [arXiv:2601\\.21351](https://arxiv.org/abs/2601.21351)\\.",
"zhu2025megascale": "Ruidong Zhu and others\\. MegaScale\\-Infer: serving mixture\\-of\\-experts at scale with disaggregated expert parallelism\\. arXiv:2504\\.02263, 2025\\.",
"stepfun2025step3": "StepFun\\. Step\\-3 is large yet affordable: model\\-system co\\-design for cost\\-effective decoding\\. arXiv:2507\\.19427, 2025\\.",
"xiao2025xdeepserve": "Ao Xiao and others\\. xDeepServe: model\\-as\\-a\\-service on Huawei CloudMatrix384\\. arXiv:2508\\.02520, 2025\\.",
"zhong2024distserve": "Yinmin Zhong, Shengyu Liu, Junda Chen, Jianbo Hu, Yibo Zhu, Xuanzhe Liu, Xin Jin, and Hao Zhang\\. DistServe: disaggregating prefill and decoding for goodput\\-optimized large language model serving\\. In *OSDI*\\. 2024\\.",
"datareceipts2026gpus": "Data Receipts\\. What an H100 actually costs per hour\\. public transcription of price lists, read 2026\\-11\\-09, 2026\\. URL: [https://github\\.com/datareceipts/data\\-receipts](https://github.com/datareceipts/data-receipts)\\.",
"apievangelist2026runpod": "API Evangelist\\. Runpod plans and pricing\\. public transcription of the provider's page, read 2026\\-10\\-07, 2026\\. URL: [https://github\\.com/api\\-evangelist/runpod](https://github.com/api-evangelist/runpod)\\.",
"kunishou2024costs": "kunishou\\. GenerativeAI\\-Cost: API prices of generative models\\. GitHub repository, 2024\\. URL: [https://github\\.com/kunishou/GenerativeAI\\-Cost](https://github.com/kunishou/GenerativeAI-Cost)\\.",
"patel2024splitwise": "Pratyush Patel, Esha Choukse, Chaojie Zhang, Aashaka Shah, \u00cd\u00f1igo Goiri, Saeed Maleki, and Ricardo Bianchini\\. Splitwise: efficient generative LLM inference using phase splitting\\. In *ISCA*\\. 2024\\.",
"kubernetes2026hpa": "The Kubernetes Authors\\. Horizontal pod autoscaling\\. Kubernetes documentation, 2026\\. URL: [https://kubernetes\\.io/docs/tasks/run\\-application/horizontal\\-pod\\-autoscale/](https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/)\\.",
"nvidia2026snapshot": "Schwinn Saereesitthipitak\\. NVIDIA Dynamo Snapshot: fast startup for inference workloads on Kubernetes\\. NVIDIA Technical Blog, 2026\\. URL: [https://developer\\.nvidia\\.com/blog/nvidia\\-dynamo\\-snapshot\\-fast\\-startup\\-for\\-inference\\-workloads\\-on\\-kubernetes/](https://developer.nvidia.com/blog/nvidia-dynamo-snapshot-fast-startup-for-inference-workloads-on-kubernetes/)\\.",
"kabakibo2026ice": "Huzaifa Shaaban Kabakibo and others\\. Breaking the ice: analyzing cold start latency in vLLM\\. 2026\\. [arXiv:2606\\.07362](https://arxiv.org/abs/2606.07362)\\.",
"mlcommons2025results": "MLCommons\\. MLPerf inference v5\\.1 results, closed division, Red Hat, one H100, llama\\-3\\.1\\-8b, server\\. log of the performance run, 2025\\. URL: [https://github\\.com/mlcommons/inference\\_results\\_v5\\.1/tree/main/closed/RedHat/results/XE8640\\_4xH100\\_vLLM](https://github.com/mlcommons/inference_results_v5.1/tree/main/closed/RedHat/results/XE8640_4xH100_vLLM)\\.",
"mlcommons2025small": "MLCommons\\. A small LLM for MLPerf inference v5\\.1\\. the benchmark's description, 2025\\. URL: [https://mlcommons\\.org/2025/09/small\\-llm\\-inference\\-5\\-1](https://mlcommons.org/2025/09/small-llm-inference-5-1)\\.",
"aiconfigurator2026": "NVIDIA\\. AIConfigurator: measured rows of served models, silicon\\_sample\\.csv\\. Package aiconfigurator\\-core 0\\.12\\.0, Apache\\-2\\.0, 2026\\.",
"kserve2026autoscaling": "The KServe Authors\\. Autoscale InferenceService with LLM metrics\\. KServe documentation, version 0\\.16, 2026\\. URL: [https://kserve\\.github\\.io/website/docs/model\\-serving/generative\\-inference/autoscaling](https://kserve.github.io/website/docs/model-serving/generative-inference/autoscaling)\\.",
"llmd2026slo": "The llm\\-d Authors\\. SLO\\-aware autoscaling with KEDA and predicted latency\\. llm\\-d documentation, 2026\\. URL: [https://llm\\-d\\.ai/docs/dev/operations/autoscaling/slo\\-aware](https://llm-d.ai/docs/dev/operations/autoscaling/slo-aware)\\.",
"yu2022orca": "Gyeong\\-In Yu, Joo Seong Jeong, Geon\\-Woo Kim, Soojeong Kim, and Byung\\-Gon Chun\\. Orca: a distributed serving system for transformer\\-based generative models\\. In *OSDI*\\. 2022\\.",
"vllm0330": "The vLLM Team\\. vLLM\\. 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/tree/v0\\.33\\.0](https://github.com/vllm-project/vllm/tree/v0.33.0)\\.",
"guidellm081": "The vLLM Project\\. GuideLLM\\. version 0\\.8\\.1, 2026\\. URL: [https://github\\.com/vllm\\-project/guidellm](https://github.com/vllm-project/guidellm)\\.",
"agrawal2023sarathi": "Amey Agrawal, Ashish Panwar, Jayashree Mohan, Nipun Kwatra, Bhargav S\\. Gulavani, and Ramachandran Ramjee\\. SARATHI: efficient LLM inference by piggybacking decodes with chunked prefills\\. arXiv:2308\\.16369, 2023\\.",
"holmes2024fastgen": "Connor Holmes and others\\. DeepSpeed\\-FastGen: high\\-throughput text generation for LLMs via MII and DeepSpeed\\-Inference\\. arXiv:2401\\.08671, 2024\\.",
"agrawal2024sarathi": "Amey Agrawal, Nitin Kedia, Ashish Panwar, Jayashree Mohan, Nipun Kwatra, Bhargav Gulavani, Alexey Tumanov, and Ramachandran Ramjee\\. Taming throughput\\-latency tradeoff in LLM inference with Sarathi\\-Serve\\. In *OSDI*\\. 2024\\.",
"kwon2023vllm": "Woosuk Kwon, Zhuohan Li, Siyuan Zhuang, Ying Sheng, Lianmin Zheng, Cody Hao Yu, Joseph E\\. Gonzalez, Hao Zhang, and Ion Stoica\\. Efficient memory management for large language model serving with PagedAttention\\. In *SOSP*\\. 2023\\.",
"daniel2023continuous": "Cade Daniel, Chen Shen, Eric Liang, and Richard Liaw\\. How continuous batching enables 23x throughput in LLM inference while reducing p50 latency\\. Anyscale blog, June 2023\\. URL: [https://www\\.anyscale\\.com/blog/continuous\\-batching\\-llm\\-inference](https://www.anyscale.com/blog/continuous-batching-llm-inference)\\.",
"sglang2025h100": "The SGLang Team\\. Deploying DeepSeek with PD disaggregation and large\\-scale expert parallelism on 96 H100 GPUs\\. lmsys\\.org blog, 5 May, 2025\\.",
"deepep2025": "DeepSeek\\-AI\\. DeepEP: an efficient expert\\-parallel communication library\\. README of June, 2025\\.",
"lee2025overlap": "Seonho Lee, Jihwan Oh, Junkyum Kim, Seokjin Go, Jongse Park, and Divya Mahajan\\. Characterizing compute\\-communication overlap in GPU\\-accelerated distributed deep learning: performance and power implications\\. 2025\\. [arXiv:2507\\.03114](https://arxiv.org/abs/2507.03114)\\.",
"deepseek2024v3": "DeepSeek\\-AI\\. DeepSeek\\-V3 technical report\\. 2024\\. [arXiv:2412\\.19437](https://arxiv.org/abs/2412.19437)\\.",
"inferencex2026": "SemiAnalysis\\. InferenceX: continuous inference benchmarks\\. Apache\\-2\\.0, runs of February and March, 2026\\.",
"mazurek2025deepseek": "Piotr Mazurek and Eric Schreiber\\. DeepSeek inference theoretical model: deriving the performance from hardware primitives\\. Aleph Alpha, 2025\\.",
"deepgemm2025": "Chenggang Zhao, Liang Zhao, Jiashi Li, and Zhean Xu\\. DeepGEMM: clean and efficient FP8 GEMM kernels with fine\\-grained scaling\\. README with tables of February to April, 2025\\.",
"flashmla2025": "Jiashi Li and Shengyu Liu\\. FlashMLA: efficient multi\\-head latent attention kernels\\. README of April, 2025\\.",
"deepseek2025day6": "DeepSeek\\-AI\\. DeepSeek\\-V3/R1 inference system overview\\. open\\-infra\\-index, day 6, 2025\\.",
"gray2019graphs": "Alan Gray\\. Getting started with CUDA graphs\\. NVIDIA Technical Blog, 2019\\.",
"shah2024flash3": "Jay Shah, Ganesh Bikshandi, Ying Zhang, Vijay Thakkar, Pradeep Ramani, and Tri Dao\\. FlashAttention\\-3: fast and accurate attention with asynchrony and low\\-precision\\. 2024\\. [arXiv:2407\\.08608](https://arxiv.org/abs/2407.08608)\\.",
"sglang2025cutlass": "The SGLang Team\\. Extend cutlass\\_mla\\_decode to fewer heads, with benchmark\\. sgl\\-project/sglang, pull request 6929, 2025\\.",
"deepseek2025profile": "DeepSeek\\-AI\\. Profiling data in DeepSeek infra\\. profile\\-data, README, 2025\\.",
"sglang2025gb200b": "The SGLang Team\\. Deploying DeepSeek on GB200 NVL72 with PD and large scale EP \\(part II\\)\\. lmsys\\.org blog, 25 September, 2025\\.",
"sglang2025gb200": "The SGLang Team\\. Deploying DeepSeek on GB200 NVL72 with PD and large scale EP\\. lmsys\\.org blog, 16 June, 2025\\.",
"eigen2025mtp": "The Eigen AI Team\\. Accelerating SGLang with multiple token prediction\\. lmsys\\.org blog, 17 July, 2025\\.",
"vllm50913": "dczhu\\. Cutting p/d\\-disaggregation TTFT: first\\-token seeding, fast KV side channels, and concurrent router dispatch \\(NixlConnector\\)\\. vLLM RFC 50913 and pull request 51919, 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/issues/50913](https://github.com/vllm-project/vllm/issues/50913)\\.",
"moriio2026": "AMD and Embedded LLM\\. Next\\-level inference: why your single\\-node vLLM setup needs prefill\\-decode disaggregation\\. vLLM blog, April 2026\\. URL: [https://github\\.com/vllm\\-project/vllm\\-project\\.github\\.io/blob/main/\\_posts/2026\\-04\\-07\\-moriio\\-kv\\-connector\\.md](https://github.com/vllm-project/vllm-project.github.io/blob/main/_posts/2026-04-07-moriio-kv-connector.md)\\.",
"qin2025mooncake": "Ruoyu Qin, Zheming Li, Weiran He, Jialei Cui, Feng Ren, Mingxing Zhang, Yongwei Wu, Weimin Zheng, and Xinran Xu\\. Mooncake: trading more storage for less computation \u2014 A KVCache\\-centric architecture for serving LLM chatbot\\. In *FAST*\\. 2025\\.",
"kamath2025pod": "Aditya K\\. Kamath, Ramya Prabhu, Jayashree Mohan, Simon Peter, Ramachandran Ramjee, and Ashish Panwar\\. POD\\-Attention: unlocking full prefill\\-decode overlap for faster LLM inference\\. In *ASPLOS*\\. 2025\\. URL: [https://arxiv\\.org/abs/2410\\.18038](https://arxiv.org/abs/2410.18038)\\.",
"article06": "Prefill and decode disaggregation: two phases on opposite sides of the roofline\\. Article 06 of the series of learning notes on how language models are served; the text that was read names no author and no address\\.",
"scaling_chapter": "Scaling LLM inference\\. Chapter of an online course: decode\\-heavy serving, KV\\-cache design, batching, PagedAttention and speculative decoding\\.",
"sennrich2016bpe": "Rico Sennrich, Barry Haddow, and Alexandra Birch\\. Neural machine translation of rare words with subword units\\. In *ACL*\\. 2016\\.",
"grattafiori2024llama3": "Aaron Grattafiori, Abhimanyu Dubey, Abhinav Jauhri, and others\\. The Llama 3 herd of models\\. 2024\\. vocabulary: tokenizer\\.model of meta\\-llama/llama3, commit 66cd498f\\. [arXiv:2407\\.21783](https://arxiv.org/abs/2407.21783)\\.",
"zhang2019rmsnorm": "Biao Zhang and Rico Sennrich\\. Root mean square layer normalization\\. In *NeurIPS*\\. 2019\\.",
"vaswani2017attention": "Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N\\. Gomez, \u0141ukasz Kaiser, and Illia Polosukhin\\. Attention is all you need\\. In *NeurIPS*\\. 2017\\.",
"su2021roformer": "Jianlin Su, Yu Lu, Shengfeng Pan, Ahmed Murtadha, Bo Wen, and Yunfeng Liu\\. RoFormer: enhanced transformer with rotary position embedding\\. 2021\\. [arXiv:2104\\.09864](https://arxiv.org/abs/2104.09864)\\.",
"ainslie2023gqa": "Joshua Ainslie, James Lee\\-Thorp, Michiel de Jong, Yury Zemlyanskiy, Federico Lebr\u00f3n, and Sumit Sanghai\\. GQA: training generalized multi\\-query transformer models from multi\\-head checkpoints\\. In *EMNLP*\\. 2023\\.",
"shazeer2020glu": "Noam Shazeer\\. GLU variants improve transformer\\. 2020\\. [arXiv:2002\\.05202](https://arxiv.org/abs/2002.05202)\\.",
"holtzman2020nucleus": "Ari Holtzman, Jan Buys, Li Du, Maxwell Forbes, and Yejin Choi\\. The curious case of neural text degeneration\\. In *ICLR*\\. 2020\\.",
"raschka2025kvcache": "Sebastian Raschka\\. KV cache, bonus material of Build a large language model \\(from scratch\\)\\. ch04/03\\_kv\\-cache, commit 2af686d7, 2025\\. URL: [https://github\\.com/rasbt/LLMs\\-from\\-scratch/tree/main/ch04/03\\_kv\\-cache](https://github.com/rasbt/LLMs-from-scratch/tree/main/ch04/03_kv-cache)\\.",
"dao2022flash": "Tri Dao, Daniel Y\\. Fu, Stefano Ermon, Atri Rudra, and Christopher R\u00e9\\. FlashAttention: fast and memory\\-efficient exact attention with IO\\-awareness\\. In *NeurIPS*\\. 2022\\.",
"milakov2018online": "Maxim Milakov and Natalia Gimelshein\\. Online normalizer calculation for softmax\\. 2018\\. [arXiv:1805\\.02867](https://arxiv.org/abs/1805.02867)\\.",
"dao2023flash2": "Tri Dao\\. FlashAttention\\-2: faster attention with better parallelism and work partitioning\\. 2023\\. [arXiv:2307\\.08691](https://arxiv.org/abs/2307.08691)\\.",
"flashsource": "FlashAttention, the library: hopper/tile\\_size\\.h, hopper/heuristics\\.h, hopper/flash\\_prepare\\_scheduler\\.cu, csrc/flash\\_attn, assets/flash3\\_fp16\\_fwd\\.png\\. Dao\\-AILab on GitHub, 2026\\.",
"dao2023decoding": "Tri Dao, Daniel Haziza, Francisco Massa, and Grigory Sizov\\. Flash\\-decoding for long\\-context inference\\. PyTorch blog, October, 2023\\.",
"barber2021jackknife": "Rina Foygel Barber, Emmanuel J\\. Cand\u00e8s, Aaditya Ramdas, and Ryan J\\. Tibshirani\\. Predictive inference with the jackknife\\+\\. *The Annals of Statistics*, 49\\(1\\):486\u2013507, 2021\\.",
"zheng2024sglang": "Lianmin Zheng, Liangsheng Yin, Zhiqiang Xie, and others\\. SGLang: efficient execution of structured language model programs\\. In *NeurIPS*\\. 2024\\.",
"llmd2026routing": "The llm\\-d authors\\. Prefix\\-cache aware routing\\. documentation of llm\\-d, 2026\\. URL: [https://llm\\-d\\.ai/docs/architecture/advanced/kv\\-management/prefix\\-cache\\-aware\\-routing](https://llm-d.ai/docs/architecture/advanced/kv-management/prefix-cache-aware-routing)\\.",
"productionstack2026routing": "The vLLM production\\-stack authors\\. KV cache aware routing\\. documentation of the vLLM production stack, 2026\\. URL: [https://docs\\.vllm\\.ai/projects/production\\-stack/en/latest/use\\_cases/kv\\-cache\\-aware\\-routing\\.html](https://docs.vllm.ai/projects/production-stack/en/latest/use_cases/kv-cache-aware-routing.html)\\.",
"dynamo2026router": "NVIDIA\\. Router design\\. documentation of Dynamo 1\\.0\\.0, 2026\\. URL: [https://docs\\.nvidia\\.com/dynamo/v1\\.0\\.0/design\\-docs/component\\-design/router\\-design\\.md](https://docs.nvidia.com/dynamo/v1.0.0/design-docs/component-design/router-design.md)\\.",
"blis2026counts": "The inference\\-sim authors\\. BLIS: golden values of fifteen serving runs on H100s\\. inference\\-sim/inference\\-sim, commit f90a1e3a, 2026\\. URL: [https://github\\.com/inference\\-sim/inference\\-sim/blob/main/testdata/trained\\_physics\\_iter29\\.json](https://github.com/inference-sim/inference-sim/blob/main/testdata/trained_physics_iter29.json)\\.",
"llmservingsim2026meta": "CASYS, KAIST\\. LLMServingSim: record of a vLLM server on an RTX 4090\\. casys\\-kaist/LLMServingSim, commit 5daddb21, 2026\\. URL: [https://github\\.com/casys\\-kaist/LLMServingSim/blob/main/bench/examples/RTX4090/Llama\\-3\\.1\\-8B/vllm/meta\\.json](https://github.com/casys-kaist/LLMServingSim/blob/main/bench/examples/RTX4090/Llama-3.1-8B/vllm/meta.json)\\.",
"llmd2026memory": "Jing Chen and others\\. vLLM empirical memory profiling results\\. llm\\-d/llm\\-d\\-benchmark, commit 87ab01be, 2026\\. URL: [https://github\\.com/llm\\-d/llm\\-d\\-benchmark/blob/87ab01bebc78107815ea3bc2eccad3eb168003b0/config\\_explorer/empirical\\-vllm\\-memory\\-results\\.md](https://github.com/llm-d/llm-d-benchmark/blob/87ab01bebc78107815ea3bc2eccad3eb168003b0/config_explorer/empirical-vllm-memory-results.md)\\.",
"deepep2026": "DeepSeek\\-AI\\. DeepEP, version 2\\. README of April, github\\.com/deepseek\\-ai/DeepEP, 2026\\.",
"deepseek2025eplb": "DeepSeek\\-AI\\. EPLB: expert parallelism load balancer\\. README, github\\.com/deepseek\\-ai/EPLB, 2025\\.",
"graham1969bounds": "Ronald L\\. Graham\\. Bounds on multiprocessing timing anomalies\\. *SIAM Journal on Applied Mathematics*, 17\\(2\\):416\u2013429, 1969\\. [doi:10\\.1137/0117039](https://doi.org/10.1137/0117039)\\.",
"fedus2021switch": "William Fedus, Barret Zoph, and Noam Shazeer\\. Switch transformers: scaling to trillion parameter models with simple and efficient sparsity\\. arXiv:2101\\.03961, 2021\\.",
"lepikhin2020gshard": "Dmitry Lepikhin, HyoukJoong Lee, Yuanzhong Xu, and others\\. GShard: scaling giant models with conditional computation and automatic sharding\\. arXiv:2006\\.16668, 2020\\.",
"wang2024lossfree": "Lean Wang, Huazuo Gao, Chenggang Zhao, Xu Sun, and Damai Dai\\. Auxiliary\\-loss\\-free load balancing strategy for mixture\\-of\\-experts\\. arXiv:2408\\.15664, 2024\\.",
"article07": "MoE and expert parallelism: from one big FFN to 256 small ones\\. Article 07 of the series of learning notes on how language models are served; the text that was read names no author and no address\\.",
"huang2019gpipe": "Yanping Huang, Youlong Cheng, Ankur Bapna, and others\\. GPipe: efficient training of giant neural networks using pipeline parallelism\\. In *Advances in Neural Information Processing Systems*\\. 2019\\. URL: [https://arxiv\\.org/abs/1811\\.06965](https://arxiv.org/abs/1811.06965)\\.",
"liu2023ring": "Hao Liu, Matei Zaharia, and Pieter Abbeel\\. Ring attention with blockwise transformers for near\\-infinite context\\. 2023\\. URL: [https://arxiv\\.org/abs/2310\\.01889](https://arxiv.org/abs/2310.01889)\\.",
"yang2024context": "Amy Yang, Jingyi Yang, Aya Ibrahim, and others\\. Context parallelism for scalable million\\-token inference\\. 2024\\. URL: [https://arxiv\\.org/abs/2411\\.01783](https://arxiv.org/abs/2411.01783)\\.",
"korthikanti2022": "Vijay Korthikanti, Jared Casper, Sangkug Lym, and others\\. Reducing activation recomputation in large transformer models\\. 2022\\. URL: [https://arxiv\\.org/abs/2205\\.05198](https://arxiv.org/abs/2205.05198)\\.",
"jacobs2023ulysses": "Sam Ade Jacobs, Masahiro Tanaka, Chengming Zhang, and others\\. DeepSpeed Ulysses: system optimizations for enabling training of extreme long sequence transformer models\\. 2023\\. URL: [https://arxiv\\.org/abs/2309\\.14509](https://arxiv.org/abs/2309.14509)\\.",
"vllm2026context": "vLLM\\. Context parallel deployment\\. 2026\\. URL: [https://docs\\.vllm\\.ai/en/latest/serving/context\\_parallel\\_deployment/](https://docs.vllm.ai/en/latest/serving/context_parallel_deployment/)\\.",
"sglang2026prefill": "SGLang\\. Prefill context parallelism\\. 2026\\. URL: [https://docs\\.sglang\\.io/docs/advanced\\_features/prefill\\_cp](https://docs.sglang.io/docs/advanced_features/prefill_cp)\\.",
"nvidia2024pipeline": "NVIDIA\\. Boosting Llama 3\\.1 405B throughput by another 1\\.5x on NVIDIA H200 tensor core GPUs and NVLink switch\\. 2024\\. URL: [https://developer\\.nvidia\\.com/blog/boosting\\-llama\\-3\\-1\\-405b\\-throughput\\-by\\-another\\-1\\-5x\\-on\\-nvidia\\-h200\\-tensor\\-core\\-gpus\\-and\\-nvlink\\-switch/](https://developer.nvidia.com/blog/boosting-llama-3-1-405b-throughput-by-another-1-5x-on-nvidia-h200-tensor-core-gpus-and-nvlink-switch/)\\.",
"vllm2026balance": "vLLM\\. Balance async PP decode batches, pull request 57433\\. 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/pull/57433](https://github.com/vllm-project/vllm/pull/57433)\\.",
"xiao2022smoothquant": "Guangxuan Xiao, Ji Lin, Mickael Seznec, Hao Wu, Julien Demouth, and Song Han\\. SmoothQuant: accurate and efficient post\\-training quantization for large language models\\. 2022\\. URL: [https://arxiv\\.org/abs/2211\\.10438](https://arxiv.org/abs/2211.10438), [arXiv:2211\\.10438](https://arxiv.org/abs/2211.10438)\\.",
"frantar2022gptq": "Elias Frantar, Saleh Ashkboos, Torsten Hoefler, and Dan Alistarh\\. GPTQ: accurate post\\-training quantization for generative pre\\-trained transformers\\. 2022\\. URL: [https://arxiv\\.org/abs/2210\\.17323](https://arxiv.org/abs/2210.17323), [arXiv:2210\\.17323](https://arxiv.org/abs/2210.17323)\\.",
"lin2023awq": "Ji Lin, Jiaming Tang, Haotian Tang, and others\\. AWQ: activation\\-aware weight quantization for LLM compression and acceleration\\. 2023\\. URL: [https://arxiv\\.org/abs/2306\\.00978](https://arxiv.org/abs/2306.00978), [arXiv:2306\\.00978](https://arxiv.org/abs/2306.00978)\\.",
"ashkboos2024quarot": "Saleh Ashkboos, Amirkeivan Mohtashami, and others\\. QuaRot: outlier\\-free 4\\-bit inference in rotated LLMs\\. 2024\\. URL: [https://arxiv\\.org/abs/2404\\.00456](https://arxiv.org/abs/2404.00456), [arXiv:2404\\.00456](https://arxiv.org/abs/2404.00456)\\.",
"lmquant": "MIT HAN Lab\\. QServe: W4A8KV4 quantization, evaluation results\\. README of the repository lmquant\\. URL: [https://github\\.com/mit\\-han\\-lab/lmquant](https://github.com/mit-han-lab/lmquant)\\.",
"modelopt": "NVIDIA\\. Model optimizer benchmark reference\\. Repository of the TensorRT Model Optimizer\\. URL: [https://github\\.com/NVIDIA/TensorRT\\-Model\\-Optimizer/blob/main/examples/benchmark\\.md](https://github.com/NVIDIA/TensorRT-Model-Optimizer/blob/main/examples/benchmark.md)\\.",
"kurtic2024bf16": "Eldar Kurtic, Alexandre Marques, Shubhra Pandit, Mark Kurtz, and Dan Alistarh\\. \u201cGive me BF16 or give me death\u201d? accuracy\\-performance trade\\-offs in LLM quantization\\. 2024\\. URL: [https://arxiv\\.org/abs/2411\\.02355](https://arxiv.org/abs/2411.02355), [arXiv:2411\\.02355](https://arxiv.org/abs/2411.02355)\\.",
"liu2024kivi": "Zirui Liu, Jiayi Yuan, Hongye Jin, and others\\. KIVI: a tuning\\-free asymmetric 2bit quantization for KV cache\\. 2024\\. URL: [https://arxiv\\.org/abs/2402\\.02750](https://arxiv.org/abs/2402.02750), [arXiv:2402\\.02750](https://arxiv.org/abs/2402.02750)\\.",
"xiao2023streaming": "Guangxuan Xiao, Yuandong Tian, Beidi Chen, Song Han, and Mike Lewis\\. Efficient streaming language models with attention sinks\\. 2023\\. URL: [https://arxiv\\.org/abs/2309\\.17453](https://arxiv.org/abs/2309.17453), [arXiv:2309\\.17453](https://arxiv.org/abs/2309.17453)\\.",
"li2024snapkv": "Yuhong Li, Yingbing Huang, Bowen Yang, and others\\. SnapKV: LLM knows what you are looking for before generation\\. 2024\\. URL: [https://arxiv\\.org/abs/2404\\.14469](https://arxiv.org/abs/2404.14469), [arXiv:2404\\.14469](https://arxiv.org/abs/2404.14469)\\.",
"frantar2024marlin": "Elias Frantar, Roberto L\\. Castro, Jiale Chen, Torsten Hoefler, and Dan Alistarh\\. MARLIN: mixed\\-precision auto\\-regressive parallel inference on large language models\\. 2024\\. URL: [https://arxiv\\.org/abs/2408\\.11743](https://arxiv.org/abs/2408.11743), [arXiv:2408\\.11743](https://arxiv.org/abs/2408.11743)\\.",
"vllmfp8": "vLLM Team\\. FP8 W8A8\\. vLLM documentation\\. URL: [https://docs\\.vllm\\.ai/en/stable/features/quantization/fp8/](https://docs.vllm.ai/en/stable/features/quantization/fp8/)\\.",
"nvidia2025nvfp4": "Eduardo Alvarez, Omri Almog, Eric Chung, and others\\. Introducing NVFP4 for efficient and accurate low\\-precision inference\\. NVIDIA technical blog, 2025\\. URL: [https://developer\\.nvidia\\.com/blog/introducing\\-nvfp4\\-for\\-efficient\\-and\\-accurate\\-low\\-precision\\-inference](https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference)\\.",
"castro2025microscaling": "Roberto L\\. Castro, Vage Egiazarian, and others\\. Bridging the gap between promise and performance for microscaling FP4 quantization\\. 2025\\. URL: [https://arxiv\\.org/abs/2509\\.23202](https://arxiv.org/abs/2509.23202), [arXiv:2509\\.23202](https://arxiv.org/abs/2509.23202)\\.",
"williams2009roofline": "Samuel Williams, Andrew Waterman, and David Patterson\\. Roofline: an insightful visual performance model for multicore architectures\\. *Communications of the ACM*, 52\\(4\\):65\u201376, 2009\\. [doi:10\\.1145/1498765\\.1498785](https://doi.org/10.1145/1498765.1498785)\\.",
"agarwal2023inference": "Megha Agarwal and others\\. LLM inference performance engineering: best practices\\. Databricks blog, October, 2023\\. URL: [https://www\\.databricks\\.com/blog/llm\\-inference\\-performance\\-engineering\\-best\\-practices](https://www.databricks.com/blog/llm-inference-performance-engineering-best-practices)\\.",
"chowdhery2022palm": "Aakanksha Chowdhery and others\\. PaLM: scaling language modeling with pathways\\. 2022\\. Appendix B defines model FLOPs utilization\\. [arXiv:2204\\.02311](https://arxiv.org/abs/2204.02311)\\.",
"he2022brrrr": "Horace He\\. Making deep learning go brrrr from first principles\\. 2022\\. URL: [https://horace\\.io/brrr\\_intro\\.html](https://horace.io/brrr_intro.html)\\.",
"spector2025bubbles": "Benjamin Spector, Jordan Juravsky, Stuart Sul, and others\\. Look ma, no bubbles\\! designing a low\\-latency megakernel for Llama\\-1B\\. Hazy Research blog, May, 2025\\. URL: [https://hazyresearch\\.stanford\\.edu/blog/2025\\-05\\-27\\-no\\-bubbles](https://hazyresearch.stanford.edu/blog/2025-05-27-no-bubbles)\\.",
"articles": "Learning notes on how modern language models are served\\. Series of articles: an LLM end to end, tensor parallelism, batching, ORCA and chunked prefill, prefill and decode disaggregation, mixture of experts and expert parallelism\\.",
"article05": "ORCA and chunked prefill: evening out the iteration\\. Article 05 of the series of learning notes on how language models are served; the text that was read names no author and no address\\.",
"leviathan2023speculative": "Yaniv Leviathan, Matan Kalman, and Yossi Matias\\. Fast inference from transformers via speculative decoding\\. In *ICML*\\. 2023\\. URL: [https://arxiv\\.org/abs/2211\\.17192](https://arxiv.org/abs/2211.17192)\\.",
"chen2023speculative": "Charlie Chen, Sebastian Borgeaud, Geoffrey Irving, Jean\\-Baptiste Lespiau, Laurent Sifre, and John Jumper\\. Accelerating large language model decoding with speculative sampling\\. arXiv:2302\\.01318, 2023\\. URL: [https://arxiv\\.org/abs/2302\\.01318](https://arxiv.org/abs/2302.01318)\\.",
"vllm2026lossless": "vLLM Team\\. Speculative decoding: lossless guarantees\\. vLLM documentation, v0\\.17\\.0, 2026\\. URL: [https://docs\\.vllm\\.ai/en/v0\\.17\\.0/features/speculative\\_decoding/](https://docs.vllm.ai/en/v0.17.0/features/speculative_decoding/)\\.",
"li2025eagle3": "Yuhui Li, Fangyun Wei, Chao Zhang, and Hongyang Zhang\\. EAGLE\\-3: scaling up inference acceleration of large language models via training\\-time test\\. arXiv:2503\\.01840, 2025\\. URL: [https://arxiv\\.org/abs/2503\\.01840](https://arxiv.org/abs/2503.01840)\\.",
"liu2026illusion": "Xiaoxuan Liu, Jiaxiang Yu, Jongseok Park, Ion Stoica, and Alvin Cheung\\. Speculative decoding: performance or illusion? arXiv:2601\\.11580; figures and data in the repositories of SpecDecode\\-Bench, 2026\\. URL: [https://arxiv\\.org/abs/2601\\.11580](https://arxiv.org/abs/2601.11580)\\.",
"inferencex2026drafts": "SemiAnalysis\\. InferenceX: lengths of accepted drafts\\. Apache\\-2\\.0, golden\\_al\\_distribution at commit 843c6254, 2026\\. URL: [https://github\\.com/SemiAnalysisAI/InferenceX](https://github.com/SemiAnalysisAI/InferenceX)\\.",
"vllm2025eagle": "Ekagra Ranjan\\. vLLM, issue 20780: EAGLE and EAGLE\\-3 on Llama\\-3\\.1\\-8B\\. 2025\\. URL: [https://github\\.com/vllm\\-project/vllm/issues/20780](https://github.com/vllm-project/vllm/issues/20780)\\.",
"sglang2025speculative": "SGLang\\. Speculative decoding \\(documentation\\)\\. 2025\\. URL: [https://docs\\.sglang\\.io/advanced\\_features/speculative\\_decoding\\.html](https://docs.sglang.io/advanced_features/speculative_decoding.html)\\.",
"little1961proof": "John D\\. C\\. Little\\. A proof for the queuing formula L = \u03bbW\\. *Operations Research*, 9\\(3\\):383\u2013387, 1961\\.",
"vllm54607": "vLLM issue 54607\\. Prefix\\-match\\-unit and the default match granularity are undocumented\\. GitHub, 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/issues/54607](https://github.com/vllm-project/vllm/issues/54607)\\.",
"vllm16300": "vLLM issue 16300\\. Performance degradation with tp=8 compared to tp=4\\. GitHub, 2025\\. URL: [https://github\\.com/vllm\\-project/vllm/issues/16300](https://github.com/vllm-project/vllm/issues/16300)\\.",
"vllm2026optimization": "vLLM Team\\. Optimization and tuning: preemption\\. vLLM documentation, 2026\\. URL: [https://docs\\.vllm\\.ai/en/stable/configuration/optimization/](https://docs.vllm.ai/en/stable/configuration/optimization/)\\.",
"inferencesim963": "inference\\-sim issue 963\\. Preemption log storm and near\\-livelock under KV exhaustion\\. GitHub, 2026\\. URL: [https://github\\.com/inference\\-sim/inference\\-sim/issues/963](https://github.com/inference-sim/inference-sim/issues/963)\\.",
"vllm54644": "vLLM issue 54644\\. Preemption victim\\-selection extension point\\. GitHub, 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/issues/54644](https://github.com/vllm-project/vllm/issues/54644)\\.",
"shoeybi2019megatron": "Mohammad Shoeybi, Mostofa Patwary, Raul Puri, Patrick LeGresley, Jared Casper, and Bryan Catanzaro\\. Megatron\\-LM: training multi\\-billion parameter language models using model parallelism\\. 2019\\. arXiv:1909\\.08053\\.",
"patarasuk2009ring": "Pitch Patarasuk and Xin Yuan\\. Bandwidth optimal all\\-reduce algorithms for clusters of workstations\\. *Journal of Parallel and Distributed Computing*, 69\\(2\\):117\u2013124, 2009\\. [doi:10\\.1016/j\\.jpdc\\.2008\\.09\\.002](https://doi.org/10.1016/j.jpdc.2008.09.002)\\.",
"vllm42324": "The vLLM Project\\. Support tuned symmetric memory two\\-shot fallback\\. pull request 42324, with measured all\\-reduces, 2026\\. URL: [https://github\\.com/vllm\\-project/vllm/pull/42324](https://github.com/vllm-project/vllm/pull/42324)\\.",
"hockney1994communication": "Roger W\\. Hockney\\. The communication challenge for MPP: Intel Paragon and Meiko CS\\-2\\. *Parallel Computing*, 20\\(3\\):389\u2013398, 1994\\. [doi:10\\.1016/S0167\\-8191\\(06\\)80021\\-9](https://doi.org/10.1016/S0167-8191(06)80021-9)\\.",
"article02": "Tensor parallelism, built from scratch in your head\\. Article 02 of the series of learning notes on how language models are served; the text that was read names no author and no address\\.",
"article03": "Walking tensor parallelism through a full block\\. Article 03 of the series of learning notes on how language models are served; the text that was read names no author and no address\\.",
"fastertransformer": "NVIDIA\\. FasterTransformer: BERT guide, single\\-gpu performance\\. 2023\\. URL: [https://github\\.com/NVIDIA/FasterTransformer/blob/main/docs/bert\\_guide\\.md](https://github.com/NVIDIA/FasterTransformer/blob/main/docs/bert_guide.md)\\.",
"krell2021packing": "Mario Michael Krell, Matej Kosec, Sergio P\\. Perez, and Andrew Fitzgibbon\\. Efficient sequence packing without cross\\-contamination: accelerating large language models without impacting performance\\. arXiv:2107\\.02027, 2021\\. URL: [https://arxiv\\.org/abs/2107\\.02027](https://arxiv.org/abs/2107.02027)\\.",
"article04": "How to batch many requests through one forward pass\\. Article 04 of the series of learning notes on how language models are served; the text that was read names no author and no address\\."
}
};
window.llmserveReferences.places = {
"attention_ffn": ["eq-slot_tokens", "eq-attn_s", "eq-ffn_s", "eq-comm_s", "eq-instance_tokens_per_s", "eq-ratio_attn", "eq-loop_s", "eq-period_s", "eq-hidden_comm_s", "eq-mean_decode", "eq-next_decode_load", "eq-decode_load", "eq-step_load", "eq-n_steps", "eq-horizon_load", "eq-slot_tokens-geometric", "eq-token_load", "eq-cycle_s", "eq-ratio_comm", "eq-ratio_peak", "eq-ratio_best", "eq-best_tokens_per_s", "eq-pipeline_s", "eq-pipeline_tokens_per_s", "eq-ratio_start", "eq-ratio_end", "eq-ratio_loop", "eq-ratio_pipeline", "eq-idle_attn", "eq-idle_ffn", "eq-slot_sd", "eq-attn_sd_s", "eq-a_attn", "eq-expert_flops", "eq-expert_rows", "eq-a_ffn", "eq-row_wire_bytes", "eq-a_comm", "eq-counted_share"],
"capacity": ["eq-busy_cost", "eq-input_cost", "eq-output_cost", "eq-n_replicas", "eq-used_share", "eq-paid_cost", "eq-wanted_replicas", "eq-price", "eq-even_price", "eq-server_busy", "eq-mean_wait_s", "eq-fixed_queue_s", "eq-backlog", "eq-drain_s"],
"continuous_batching": ["eq-idle_slots", "eq-served_iteration_s", "eq-n_rows-mixed", "eq-attn_pairs-mixed", "eq-kv_read_bytes-mixed", "eq-compute_s-mixed", "eq-kv_s-mixed", "eq-linear_s", "eq-pairs_s", "eq-iteration_s-mixed", "eq-mfu", "eq-num_chunks", "eq-last_prefix", "eq-block_pairs", "eq-prompt_block_pairs", "eq-prompt_compute_s", "eq-prompt_weights_s", "eq-reread_tokens", "eq-prompt_kv_s", "eq-rereads", "eq-hiding_chunk", "eq-prompt_s", "eq-chunks_s", "eq-reading_gap_s", "eq-decodes_s", "eq-spare_flops-served", "eq-row_flops", "eq-chunk_fits-served", "eq-num_iterations"],
"deepseek_twin": ["eq-kv_bytes_per_token-mla", "eq-absorb_rows", "eq-turn_s", "eq-expand_flops", "eq-vanilla_pair_flops", "eq-attn_flops_per_pair-mla", "eq-mla_bytes", "eq-mla_read_s", "eq-mla_compute_s", "eq-sharp_s", "eq-attn_gemm_read_s", "eq-attn_gemm_compute_s", "eq-attn_gemm_s", "eq-attn_kernel_s", "eq-mla_s", "eq-local_experts", "eq-read_experts", "eq-busiest_experts", "eq-all_to_all_bytes", "eq-n_nodes", "eq-far_share", "eq-flight_s", "eq-all_to_all_s", "eq-expert_bytes", "eq-expert_read_s", "eq-expert_compute_s", "eq-experts_s", "eq-attn_elementwise_s", "eq-moe_elementwise_s", "eq-other_read_s", "eq-other_compute_s", "eq-other_s", "eq-batch", "eq-hidden_s", "eq-attn_phase_s", "eq-moe_phase_s", "eq-stages_s", "eq-halves_s", "eq-user_tokens_per_s", "eq-gpu_tokens_per_s", "eq-resident_bytes", "eq-held_bytes", "eq-quadratic_prompt"],
"disaggregation": ["eq-transfer_s", "eq-exposed_s", "eq-ttft", "eq-ride_s", "eq-shared_gap_s", "eq-tbt_batch", "eq-tier_gain", "eq-handoff_bytes", "eq-handoff_per_s", "eq-kv_made_per_s", "eq-prefill_flops", "eq-prefill_compute_s", "eq-prefill_linear_s", "eq-prefill_s", "eq-prefill_each_s", "eq-kv_made_short", "eq-prefill_wait_s", "eq-second_gap_s", "eq-decode_steps", "eq-mean_context", "eq-row_s", "eq-step_read_s", "eq-step_pairs_s", "eq-step_own_s", "eq-decode_step_s", "eq-decode_batch", "eq-arith_batch", "eq-batch_fits-answers", "eq-decode_gpu_s", "eq-prefill_gpus", "eq-decode_gpus", "eq-pool_ratio", "eq-shared_step_s", "eq-shared_time_batch", "eq-shared_batch", "eq-shared_gpu_s", "eq-prefill_rate", "eq-decode_rate", "eq-pools_rate", "eq-best_pools_rate", "eq-shared_rate", "eq-shared_gpus", "eq-pools_gpus", "eq-decode_s", "eq-free_rows", "eq-token_cost"],
"end_to_end": ["eq-attn_params", "eq-ffn_params", "eq-iteration_flops-token", "eq-kv_held_bytes", "eq-norm_params", "eq-block_params", "eq-step_len", "eq-step_pairs", "eq-recompute_rows", "eq-recompute_pairs", "eq-cached_rows", "eq-cached_pairs", "eq-rows_ratio", "eq-pairs_ratio", "eq-long_prompt_ratio", "eq-long_answer_rows", "eq-long_answer_pairs", "eq-recompute_flops", "eq-cached_flops", "eq-flops_ratio"],
"flash_attention": ["eq-running_sum", "eq-plain_bytes", "eq-keys_read", "eq-tiled_bytes", "eq-shared_bytes", "eq-merged_out", "eq-split_read_s", "eq-square_bytes", "eq-row_tiles", "eq-rows_visited", "eq-outer_keys_bytes", "eq-once_bytes", "eq-head_flops", "eq-plain_intensity", "eq-tiled_intensity", "eq-once_intensity", "eq-plain_limit", "eq-tiled_limit", "eq-register_bytes", "eq-chip_share", "eq-work_blocks", "eq-busy_share", "eq-waves", "eq-merge_bytes", "eq-merge_s", "eq-decode_attn_s", "eq-least_read_s"],
"how_wrong": ["eq-relative_error", "eq-measured_s"],
"kv_memory": ["eq-cache_bytes", "eq-request_cache_bytes", "eq-block_bytes", "eq-num_blocks", "eq-batch_fits-layers", "eq-cache_tokens", "eq-batch_fits-paged", "eq-reserved_share", "eq-paged_share", "eq-sharing_share", "eq-swap_s", "eq-redo_s", "eq-swap_bw"],
"mixture_of_experts": ["eq-touched_experts", "eq-gpu_weight_bytes", "eq-copies_s", "eq-balancedness", "eq-expert_params", "eq-router_params", "eq-moe_params", "eq-moe_active", "eq-active_share", "eq-moe_read_bytes", "eq-read_ratio", "eq-rows_per_expert", "eq-expert_intensity", "eq-moe_ridge_rows", "eq-n_rows-group", "eq-least_ep", "eq-layer_read_s", "eq-layer_compute_s", "eq-far_share-group", "eq-expert_capacity", "eq-ffn_tp_bytes", "eq-tp_block_bytes", "eq-slice_intensity", "eq-slice_limit", "eq-row_copies", "eq-row_out_bytes", "eq-ep_bytes", "eq-sp_bytes", "eq-composed_bytes", "eq-busiest_rows", "eq-hot_bytes", "eq-cold_bytes"],
"parallelism": ["eq-prefill_bubble", "eq-decode_bubble", "eq-ring_rows", "eq-even_tokens", "eq-linear_s-stages", "eq-pairs_s-stages", "eq-pass_s", "eq-stage_hop_s", "eq-stage_s", "eq-pipe_token_s", "eq-pipe_rate", "eq-stage_bytes", "eq-pipe_slots", "eq-bubble", "eq-pipe_bytes", "eq-reduced_bytes", "eq-pipe_share", "eq-inside_s", "eq-between_s", "eq-two_level_s", "eq-ring_kv_bytes", "eq-query_bytes_per_token", "eq-ring_q_bytes", "eq-miss_share", "eq-busiest", "eq-busiest_endless", "eq-wire_ridge"],
"quantization": ["eq-eff_bits", "eq-weight_bytes-quantized", "eq-linear_s-quantized", "eq-products_s", "eq-few_bits_step_s", "eq-group_scale", "eq-rounding_bound", "eq-bytes_quantized", "eq-stored_bytes-quantized", "eq-held_bytes-quantized", "eq-weights_s-quantized", "eq-pairs_s-decode", "eq-few_bits_gain"],
"roofline": ["eq-intensity", "eq-ridge-datasheet", "eq-attainable_flops-datasheet", "eq-iteration_s-decode", "eq-intensity-decode", "eq-mbu", "eq-mfu-measured", "eq-ridge", "eq-attainable_flops", "eq-weight_bytes", "eq-stored_bytes", "eq-kv_bytes_per_token", "eq-kv_read_bytes", "eq-iteration_bytes", "eq-n_rows", "eq-linear_flops", "eq-attn_pairs", "eq-attn_flops_per_pair", "eq-attn_flops", "eq-iteration_flops", "eq-compute_s", "eq-weights_s", "eq-kv_s", "eq-linear_s-apart", "eq-pairs_s-apart", "eq-iteration_s-apart", "eq-iteration_s", "eq-iterations_per_s", "eq-kv_write_bytes", "eq-short_intensity", "eq-ridge_rows", "eq-crossover_context", "eq-crossover_tokens", "eq-linear_intensity", "eq-long_intensity", "eq-ridge_batch", "eq-ridge_context", "eq-prefill_reach", "eq-attn_intensity", "eq-endless_intensity", "eq-batch_fits", "eq-context_fits"],
"speculative_decoding": ["eq-accepted", "eq-survival", "eq-accepted-falling", "eq-speculative_s", "eq-speculative_speedup", "eq-verify_s", "eq-n_rows-verify", "eq-attn_pairs-verify", "eq-linear_s-verify", "eq-pairs_s-verify", "eq-plain_linear_s", "eq-plain_pairs_s", "eq-plain_pass_s", "eq-accepted_needed"],
"symptoms": ["eq-waiting_mean", "eq-running_mean", "eq-system_s"],
"tensor_parallel": ["eq-all_reduce_s", "eq-one_shot_s", "eq-in_switch_s", "eq-rank_s", "eq-beside_s", "eq-tp_s", "eq-rank_bytes", "eq-gather_bytes", "eq-all_reduce_bytes", "eq-two_shot_s", "eq-gather_s", "eq-latency_bytes", "eq-fastest_s", "eq-hidden_bytes", "eq-gathered_tensor_bytes", "eq-gathered_bytes", "eq-paired_bytes", "eq-paired_share", "eq-score_bytes", "eq-score_rows", "eq-kv_copies", "eq-kv_rank_bytes", "eq-linear_s-cut", "eq-pairs_s-cut", "eq-link_s", "eq-rest_s", "eq-ring_more_s", "eq-ring_tp_s", "eq-link_share", "eq-tp_speedup"],
"varlen_batching": ["eq-padded_rows", "eq-n_rows-packed", "eq-padding_share", "eq-padded_pairs", "eq-masked_pairs", "eq-varlen_pairs", "eq-useful_pairs", "eq-masked_ratio", "eq-overtake_prompt", "eq-mean_prompt", "eq-mean_square_prompt", "eq-longest_prompt", "eq-wasted_pairs", "eq-row_prompt", "eq-attn_flops-packed", "eq-linear_flops-packed", "eq-attn_share", "eq-overtake_square", "eq-intensity-packed", "eq-packed_ridge_rows"],
};
