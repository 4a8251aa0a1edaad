"""Rewrites of PyTorch operators of which torch.onnx writes other operators than they are."""

from __future__ import annotations

from typing import Any


def with_exact_operators(torch: Any, program: Any) -> Any:
    """The exported program without operators that torch.onnx mistakes or lacks.

    scatter_reduce() with "mean" becomes a sum and a count: ONNX has no such reduction, and torch.onnx writes a plain
    store, which keeps the last of several elements. An LSTM with projections becomes its steps: ONNX's has none, and
    torch.onnx leaves them out. Adaptive pools become means and maxima of slices: torch.onnx has those of sizes that
    divide. masked_select() becomes indexing: torch.onnx lacks it.
    """
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    nodes = [node for graph in graphs for node in graph.nodes if node.op == "call_function"]
    aten = torch.ops.aten
    table = {
        aten.scatter_reduce.two: _scattered(torch),
        aten.masked_select.default: _selected(torch),
        aten.lstm.input: _projected_lstm(torch),
        aten.adaptive_max_pool1d.default: _adaptive_maxima(torch, 1),
        aten.adaptive_max_pool2d.default: _adaptive_maxima(torch, 2),
        aten.adaptive_max_pool3d.default: _adaptive_maxima(torch, 3),
        aten.adaptive_avg_pool3d.default: _adaptive_means(torch),
        aten._adaptive_avg_pool3d.default: _adaptive_means(torch),
    }
    needed = {node.target: table[node.target] for node in nodes if node.target in table and _is_mistaken(node)}
    return program.run_decompositions(needed) if needed else program


def _is_mistaken(node: Any) -> bool:
    """Whether torch.onnx mistakes this node, of an operator of which it does not mistake all."""
    name = str(node.target)
    if "scatter_reduce" in name:
        return "mean" in (*node.args, node.kwargs.get("reduce"))
    if "lstm" in name:
        layers, both_ways, has_biases = node.args[4], node.args[7], node.args[3]
        return bool(len(node.args[2]) > layers * (2 if both_ways else 1) * (4 if has_biases else 2))
    return True


def _scattered(torch: Any) -> Any:
    def scattered(base: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
        if reduce != "mean":
            return NotImplemented
        stored = torch.zeros_like(base).scatter_add(dim, index, torch.ones_like(source))
        if not include_self:
            base = torch.where(stored > 0, torch.zeros_like(base), base)
        count = stored + 1 if include_self else stored.clamp(min=1)
        total = base.scatter_add(dim, index, source)
        return total / count if base.is_floating_point() else torch.div(total, count, rounding_mode="floor")

    return scattered


def _selected(torch: Any) -> Any:
    def selected(value: Any, mask: Any) -> Any:
        value, mask = torch.broadcast_tensors(value, mask)
        return value[mask]

    return selected


def _projected_lstm(torch: Any) -> Any:
    def lstm(value: Any, states: Any, weights: Any, has_biases: bool, layers: int, *options: Any) -> Any:
        _, _, both_ways, batch_first = options
        each, sides = (5 if has_biases else 3), (2 if both_ways else 1)
        if len(weights) != each * layers * sides:
            return NotImplemented
        rows = value.transpose(0, 1) if batch_first else value
        outputs, cells = [], []
        for layer in range(layers):
            halves = []
            for side in range(sides):
                place = layer * sides + side
                own = weights[place * each : place * each + each]
                steps, hidden, cell = _lstm_steps(torch, rows, states[0][place], states[1][place], own, side == 1)
                halves.append(steps)
                outputs.append(hidden)
                cells.append(cell)
            rows = torch.cat(halves, -1)
        return rows.transpose(0, 1) if batch_first else rows, torch.stack(outputs), torch.stack(cells)

    return lstm


def _lstm_steps(torch: Any, rows: Any, hidden: Any, cell: Any, weights: Any, backwards: bool) -> tuple[Any, Any, Any]:
    """All outputs of a direction, and the last output and cell.

    weights  of the input, of the last output, their biases if there are any, and of the projection
    """
    biases, projection = weights[2:-1], weights[-1]
    products = rows @ weights[0].t() + (sum(biases) if biases else 0)
    count, steps = rows.shape[0], []
    for number in range(count):
        at = count - 1 - number if backwards else number
        i, f, g, o = (products[at] + hidden @ weights[1].t()).chunk(4, -1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = (torch.sigmoid(o) * torch.tanh(cell)) @ projection.t()
        steps.append(hidden)
    return torch.stack(steps[::-1] if backwards else steps), hidden, cell


def _kernel(value: Any, sizes: Any) -> list[int] | None:
    """The window of an ordinary pool that an adaptive one is, where its sizes divide."""
    whole = value.shape[value.dim() - len(sizes) :]
    divides = all(size % count == 0 for size, count in zip(whole, sizes, strict=True))
    return [size // count for size, count in zip(whole, sizes, strict=True)] if divides else None


def _spans(size: int, count: int) -> list[tuple[int, int]]:
    """First and last but one element of each window of an adaptive pool."""
    return [(k * size // count, -((k + 1) * -size // count)) for k in range(count)]


def _adaptive_means(torch: Any) -> Any:
    def means(value: Any, sizes: Any) -> Any:
        if (kernel := _kernel(value, sizes)) is not None:
            return torch.nn.functional.avg_pool3d(value, kernel, kernel)
        for axis, count in zip(range(value.dim() - len(sizes), value.dim()), sizes, strict=True):
            spans = _spans(value.shape[axis], count)
            value = torch.cat([value.narrow(axis, a, b - a).mean(axis, keepdim=True) for a, b in spans], axis)
        return value

    return means


def _adaptive_maxima(torch: Any, dimensions: int) -> Any:
    def maxima(value: Any, sizes: Any) -> Any:
        """Values and their places in the flattened plane, axis by axis: the first of equal ones in reading order."""
        if (kernel := _kernel(value, sizes)) is not None:
            pool = getattr(torch.nn.functional, f"max_pool{dimensions}d")
            return pool(value, kernel, kernel, return_indices=True)
        first = value.dim() - dimensions
        plane = value.shape[first:]
        places = torch.arange(plane.numel()).reshape(plane).expand(value.shape)
        for axis in range(value.dim() - 1, first - 1, -1):
            best, index = [], []
            for a, b in _spans(value.shape[axis], sizes[axis - first]):
                part, where = value.narrow(axis, a, b - a).max(axis, keepdim=True)
                best.append(part)
                index.append(places.narrow(axis, a, b - a).gather(axis, where))
            value, places = torch.cat(best, axis), torch.cat(index, axis)
        return value, places

    return maxima
