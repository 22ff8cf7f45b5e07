"""Order of execution: every node after the nodes whose results it, or a body of it, uses."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Graph, Node


def dependencies(node: Node) -> list[Node]:
    """The nodes of the same graph that must run before `node`."""
    values = [value for value in node.inputs if value is not None]
    if node.subgraphs:
        values.extend(node.captures())
    found: dict[Node, None] = {}
    for value in values:
        if value.node is not None and value.node.graph is node.graph and value.node is not node:
            found[value.node] = None
        elif value.node is node:
            found[node] = None
    return list(found)


def sort(graph: Graph) -> tuple[bool, list[Node] | None]:
    """Order the nodes of `graph` (not of its bodies), moving as few as possible.

    Gives whether anything moved, and the nodes of a cycle when there is one; then nothing is moved.
    """
    done: set[Node] = set()
    needs: dict[Node, list[Node]] = {}
    in_order = True
    for node in graph:
        needs[node] = dependencies(node)
        in_order = in_order and all(each in done for each in needs[node])
        done.add(node)
    if in_order:
        return False, None
    ordered: list[Node] = []
    state: dict[Node, int] = {}  # 1 on the current path, 2 finished
    for start in graph:
        if start in state:
            continue
        path: list[tuple[Node, int]] = [(start, 0)]
        state[start] = 1
        while path:
            node, position = path.pop()
            waiting = needs[node]
            if position == len(waiting):
                state[node] = 2
                ordered.append(node)
                continue
            path.append((node, position + 1))
            following = waiting[position]
            if state.get(following) == 1:
                names = [each for each, _ in path]
                return False, names[names.index(following) :]
            if following not in state:
                state[following] = 1
                path.append((following, 0))
    graph.reorder(ordered)
    return True, None
