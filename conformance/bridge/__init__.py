"""The link bridge on real API servers: what the policies of `krmfn bridge` do to pods, written down and replayed."""
