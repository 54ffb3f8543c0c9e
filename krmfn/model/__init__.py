"""The words of the ground: trees, findings, names, quantities, marks. Plain data; knows no kind and no rule."""
