vim.lsp.config("krmfn", {
  cmd = { "krmfn", "lsp" },
  filetypes = { "yaml" },
  root_markers = { ".git" },
  init_options = { kubernetes = "1.37" },
})
vim.lsp.enable("krmfn")
