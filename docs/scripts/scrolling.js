// What moves sideways can be moved by keyboard as well: tables and code that are wider than the page. The theme makes
// the boxes of tables after this script has run.
function mark() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) box.tabIndex = 0;
}
mark();
new MutationObserver(mark).observe(document.body, { childList: true, subtree: true });
