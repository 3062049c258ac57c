/* What MathJax and the folds of answers read when they start. In a file, since a server
 * may forbid scripts that stand in a page (script-src 'self'). */
"use strict";
window.MathJax = {
  // \class marks the letters; loaded at once, or each page would typeset twice.
  loader: { load: ["[tex]/html"] },
  tex: { packages: { "[+]": ["html"] } },
  options: { processHtmlClass: "tex2jax_process|mathjax_process|math|output_area" },
};
window.toggleHintShow = "Click to show";
window.toggleHintHide = "Click to hide";
window.toggleOpenOnPrint = "true";
window.togglebuttonSelector = ".toggle, .admonition.dropdown";
