"""The two tree kernels that releases before 0.5.15 have in CUDA only, in plain Python.

They build a draft tree and walk it; slots, lengths and pools are none of their business.
"""

from __future__ import annotations

import torch


def build_tree(
    parent_list,
    selected_index,
    seq_lens,
    tree_mask,
    positions,
    retrieve_index,
    retrieve_next_token,
    retrieve_next_sibling,
    topk,
    depth,
    width,
    mode=0,
):
    """Parents, links, positions and the tree mask of each request's `width` nodes, written in place.

    Node j of a request is its root (0) or the j-th selected candidate. A candidate's number is
    `topk * row + branch`; row 0 hangs below the root, `parent_list` [bs, topk * (depth - 1) + 1] names the
    candidate that row r hangs below. The mask has all `seq_len + width` columns a node (mode 0), or `width` (mode 1).
    """
    taken = 0
    for b, length in enumerate(seq_lens.tolist()):
        parents = _parents(selected_index[b].tolist(), parent_list[b].tolist(), topk)
        before = 0 if mode else length
        columns = before + width
        mask = tree_mask.view(-1)[taken : taken + width * columns].view(width, columns)
        taken += width * columns
        retrieve_index[b] = torch.arange(b * width, (b + 1) * width)
        for node in range(width):
            path = _path(parents, node)
            mask[node, before:] = False
            mask[node, [before + each for each in path]] = True
            positions[b * width + node] = length + len(path) - 1
        for node in range(width - 1, 0, -1):  # the last one linked comes first among siblings
            first = int(retrieve_next_token[b, parents[node]])
            retrieve_next_sibling[b, node] = first
            retrieve_next_token[b, parents[node]] = node


def _parents(selected, parent_list, topk):
    """Parent node of each node; the root's own is None."""
    parents = [None]
    for candidate in selected:
        row = candidate // topk
        parents.append(0 if row == 0 else selected.index(parent_list[row]) + 1)
    return parents


def _path(parents, node):
    path = [node]
    while parents[path[-1]] is not None:
        path.append(parents[path[-1]])
    return path


def verify_greedy(
    *,
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    """Walk each tree from its root as long as a child is what the target chose; written in place."""
    chosen = target_predict.reshape(-1)
    for b in range(candidates.shape[0]):
        node, accepted = 0, 0
        row = int(retrive_index[b, 0])
        accept_index[b, 0] = row
        while accepted + 1 < accept_index.shape[1]:
            node = int(retrive_next_token[b, node])
            while node >= 0 and int(candidates[b, node]) != int(chosen[row]):
                node = int(retrive_next_sibling[b, node])
            if node < 0:
                break
            predicts[row] = chosen[row]
            row, accepted = int(retrive_index[b, node]), accepted + 1
            accept_index[b, accepted] = row
        predicts[row] = chosen[row]
        accept_token_num[b] = accepted
