// Starts `krmfn lsp` for the YAML files of a folder. All else is in the server.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("krmfn");
  const server = { command: settings.get("path"), args: ["lsp"] };
  client = new LanguageClient("krmfn", "krmfn", server, {
    documentSelector: [{ scheme: "file", language: "yaml" }],
    initializationOptions: { kubernetes: settings.get("kubernetes") },
  });
  return client.start();
};

exports.deactivate = () => client?.stop();
