"""What an editor asks for, over the Language Server Protocol (`krmfn lsp`)."""
