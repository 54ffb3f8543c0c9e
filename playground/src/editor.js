// An editor of YAML: CodeMirror with the colours of the page. Tab leaves it, so that a keyboard alone gets everywhere.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.content, tags.attributeValue], color: "var(--text)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.separator, tags.punctuation], color: "var(--quiet)" },
]);

/** `changed` is called after each edit of a person. */
export function makeEditor(parent, label, changed) {
  const extensions = [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    yaml(),
    indentUnit.of("  "),
    syntaxHighlighting(colours),
    keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
  ];
  const view = new EditorView({ parent, state: EditorState.create({ extensions }) });
  return {
    view,
    show(text) {
      view.setState(EditorState.create({ doc: text, extensions }));
    },
    /** Findings of this file, each on the rest of its line. */
    mark(results) {
      view.dispatch(setDiagnostics(view.state, results.map((result) => place(view.state.doc, result))));
    },
    go(line, column) {
      const at = find(view.state.doc, line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
  };
}

function find(doc, line = 1, column = 1) {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max(column - 1, 0), found.to);
}

function place(doc, { file = {}, message, severity, tags: told = {} }) {
  const from = find(doc, file.line, file.column);
  const text = told.hint ? `${message}\n${told.hint}` : message;
  return { from, to: Math.max(from, doc.lineAt(from).to), severity, message: text, source: told.rule };
}
