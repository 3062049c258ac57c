"use strict";
// Read by MathJax when it starts, and by nothing else.
window.MathJax = {
  // \class marks the letters; loaded at once, or each page would typeset twice.
  loader: { load: ["[tex]/html"] },
  tex: { packages: { "[+]": ["html"] } },
  options: { processHtmlClass: "tex2jax_process|mathjax_process|math|output_area" },
};
