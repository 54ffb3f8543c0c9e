"""`./dev live`: what krmfn prints, on the real control plane of a release. Every claim is observed, none is derived.

krmfn is always asked as a process, with files, as a user does. Nothing here is shipped.
"""
